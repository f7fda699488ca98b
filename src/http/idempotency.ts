import { ConflictError, invalidValue } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import type { IdempotencyClaim } from "../store/store.ts";
import type { ApiRequest } from "./action.ts";
import { bodyHash } from "./body/body-hash.ts";
import type { ApiDeps } from "./dependencies.ts";
import type { UntypedRow } from "./rows/representation.ts";

/** Carries a request out unless its Idempotency-Key says that this was done before; then it answers the same. */
export type IdempotentExecutor = <R extends ApiRequest>(
  request: R,
  carryOut: (request: R) => Promise<HttpResponse>,
) => Promise<HttpResponse>;

/** own choice: 1 to 255 visible ASCII characters. @source draft-ietf-httpapi-idempotency-key-header */
const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;
/** Longer answers are made anew from the row. own choice */
const MAX_STORED_RESPONSE = 262_144;
const REPLAYED = { "Idempotency-Replayed": "true" };

/**
 * Heeds Idempotency-Key on every POST: what was done under a key is answered again for 24 hours and not done again, also
 * after a crash, since the key is stored in the transaction of the first row that the request writes. What was refused
 * may be tried again. @source decisions.md 2
 */
export function createIdempotency({ store, catalogue }: Pick<ApiDeps, "store" | "catalogue">): IdempotentExecutor {
  /** Requests under way, by owner and key: a second one waits for the first. */
  const underWay = new Map<string, { requestHash: string; answer: Promise<HttpResponse> }>();

  async function replay<R extends ApiRequest>(request: R, claim: IdempotencyClaim): Promise<HttpResponse | null> {
    const done = store.idempotency.find(claim);
    if (!done) return null;
    if (done.response !== null) {
      const answer = JSON.parse(done.response) as HttpResponse;
      return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
    }
    const resource =
      done.createdRow && catalogue.has(done.createdRow.resource) ? catalogue.byName(done.createdRow.resource) : null;
    const row =
      resource && done.createdRow
        ? (store.get(resource, done.createdRow.id, request.by.scope) as UntypedRow | null)
        : null;
    if (!resource || !row) throw new ConflictError("What was made under this key is gone.", "Idempotency-Key");
    const answer = await request.respondWithRow(resource, row as never);
    return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
  }

  async function executeOnce<R extends ApiRequest>(
    request: R,
    claim: IdempotencyClaim,
    carryOut: (request: R) => Promise<HttpResponse>,
  ): Promise<HttpResponse> {
    const earlier = await replay(request, claim);
    if (earlier) return earlier;
    const answer = await carryOut({ ...request, by: { ...request.by, idempotencyClaim: claim } });
    if (isStorable(answer)) await store.write(() => store.idempotency.recordResponse(claim, JSON.stringify(answer)));
    return answer;
  }

  return async (request, carryOut) => {
    const key = request.method === "post" ? request.header("idempotency-key") : null;
    if (key === null) return carryOut(request);
    if (!KEY_PATTERN.test(key)) throw invalidValue("idempotency-key", "It must be 1 to 255 visible ASCII characters.");
    const claim = { owner: request.principal.userId, key, requestHash: requestHash(request) };
    const name = `${claim.owner} ${key}`;
    const first = underWay.get(name);
    if (first && first.requestHash === claim.requestHash) return first.answer;
    if (first) throw new ConflictError("This idempotency key was used for another request.", "Idempotency-Key");
    const answer = executeOnce(request, claim, carryOut);
    underWay.set(name, { requestHash: claim.requestHash, answer });
    try {
      return await answer;
    } finally {
      underWay.delete(name);
    }
  };
}

function isStorable({ body }: HttpResponse): boolean {
  return body === null || (typeof body === "string" && body.length <= MAX_STORED_RESPONSE);
}

function requestHash({ path, query, by, body }: ApiRequest): string {
  const { access_token: _token, domain: _domain, ...asked } = query;
  return bodyHash({ path, asked, domain: by.scope.domainId, body });
}
