import { ConflictError, invalidValue } from "../base/errors.ts";
import type { Claim } from "../store/store.ts";
import type { Answer, ApiRequest } from "./action.ts";
import type { ApiNeeds } from "./needs.ts";
import type { Row } from "./representation.ts";
import { requestShaOf } from "./request-sha.ts";

/** Carries a request out unless its Idempotency-Key says that this was done before; then it answers the same. */
export type OnceOnly = <R extends ApiRequest>(request: R, carryOut: (request: R) => Promise<Answer>) => Promise<Answer>;

/** own choice: 1 to 255 visible ASCII characters. @source draft-ietf-httpapi-idempotency-key-header */
const KEY = /^[\x21-\x7e]{1,255}$/;
/** Longer answers are made anew from the row. own choice */
const MOST_KEPT = 262_144;
const REPLAYED = { "Idempotency-Replayed": "true" };

/**
 * Heeds Idempotency-Key on every POST: what was done under a key is answered again for 24 hours and not done again, also
 * after a crash, since the key is stored in the transaction of the first row that the request writes. What was refused
 * may be tried again. @source decisions.md 2
 */
export function createOnceOnly({ store, catalogue }: Pick<ApiNeeds, "store" | "catalogue">): OnceOnly {
  /** Requests under way, by owner and key: a second one waits for the first. */
  const underWay = new Map<string, { sha: string; answer: Promise<Answer> }>();

  async function again<R extends ApiRequest>(request: R, claim: Claim): Promise<Answer | null> {
    const done = store.once.find(claim);
    if (!done) return null;
    if (done.answer !== null) {
      const answer = JSON.parse(done.answer) as Answer;
      return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
    }
    const resource = done.made && catalogue.has(done.made.resource) ? catalogue.byName(done.made.resource) : null;
    const row = resource && done.made ? (store.get(resource, done.made.id, request.by.scope) as Row | null) : null;
    if (!resource || !row) throw new ConflictError("What was made under this key is gone.", "Idempotency-Key");
    const answer = await request.show(resource, row as never);
    return { ...answer, headers: { ...answer.headers, ...REPLAYED } };
  }

  async function carryOutOnce<R extends ApiRequest>(
    request: R,
    claim: Claim,
    carryOut: (request: R) => Promise<Answer>,
  ): Promise<Answer> {
    const earlier = await again(request, claim);
    if (earlier) return earlier;
    const answer = await carryOut({ ...request, by: { ...request.by, once: claim } });
    if (isKept(answer)) await store.write(() => store.once.keep(claim, JSON.stringify(answer)));
    return answer;
  }

  return async (request, carryOut) => {
    const key = request.method === "post" ? request.header("idempotency-key") : null;
    if (key === null) return carryOut(request);
    if (!KEY.test(key)) throw invalidValue("idempotency-key", "It must be 1 to 255 visible ASCII characters.");
    const claim = { owner: request.principal.userId, key, sha: shaOf(request) };
    const name = `${claim.owner} ${key}`;
    const first = underWay.get(name);
    if (first && first.sha === claim.sha) return first.answer;
    if (first) throw new ConflictError("This idempotency key was used for another request.", "Idempotency-Key");
    const answer = carryOutOnce(request, claim, carryOut);
    underWay.set(name, { sha: claim.sha, answer });
    try {
      return await answer;
    } finally {
      underWay.delete(name);
    }
  };
}

function isKept({ body }: Answer): boolean {
  return body === null || (typeof body === "string" && body.length <= MOST_KEPT);
}

function shaOf({ path, query, by, body }: ApiRequest): string {
  const { access_token: _token, domain: _domain, ...asked } = query;
  return requestShaOf({ path, asked, domain: by.scope.domainId, body });
}
