import { ConflictError, invalidValue } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { IdempotencyClaim } from "../store/store.ts";
import type { ApiRequest } from "./action.ts";
import { bodyHash } from "./body/body-hash.ts";
import type { ApiDeps } from "./dependencies.ts";
import type { UntypedRow } from "./rows/representation.ts";

/** Executes a request unless its Idempotency-Key was already used; then the first response is returned. */
export type IdempotentExecutor = <R extends ApiRequest>(
  request: R,
  execute: (request: R) => Promise<HttpResponse>,
) => Promise<HttpResponse>;

/** 1 to 255 visible ASCII characters. @source draft-ietf-httpapi-idempotency-key-header */
const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;
/** Larger responses are not stored but rebuilt from the created row. */
const MAX_STORED_RESPONSE = 262_144;
const REPLAYED = { "Idempotency-Replayed": "true" };

/**
 * Implements Idempotency-Key for every POST: a repeated request gets the first response for 24 hours and is not
 * executed again, even after a crash, because the key is stored in the transaction of the first row that the request
 * writes. Failed requests may be repeated.
 * @source docs/decisions/0002-errors.md
 */
export function createIdempotency({ store, catalogue }: Pick<ApiDeps, "store" | "catalogue">): IdempotentExecutor {
  /** Requests in progress by owner and key; a duplicate waits for the first one. */
  const inFlight = new Map<string, { requestHash: string; response: Promise<HttpResponse> }>();

  async function replay<R extends ApiRequest>(request: R, claim: IdempotencyClaim): Promise<HttpResponse | null> {
    const done = store.idempotency.find(claim);
    if (!done) return null;
    if (done.response !== null) {
      const response = JSON.parse(done.response) as HttpResponse;
      return { ...response, headers: { ...response.headers, ...REPLAYED } };
    }
    const resource =
      done.createdRow && catalogue.has(done.createdRow.resource) ? catalogue.byName(done.createdRow.resource) : null;
    const row =
      resource && done.createdRow
        ? (store.get(resource, done.createdRow.id, request.by.scope) as UntypedRow | null)
        : null;
    if (!resource || !row)
      throw new ConflictError(
        sentence("conflict.the-resource-created-with-this-idempotency-key-no-longer-exists"),
        "Idempotency-Key",
      );
    const response = await request.respondWithRow(resource, row as never);
    return { ...response, headers: { ...response.headers, ...REPLAYED } };
  }

  async function executeOnce<R extends ApiRequest>(
    request: R,
    claim: IdempotencyClaim,
    execute: (request: R) => Promise<HttpResponse>,
  ): Promise<HttpResponse> {
    const earlier = await replay(request, claim);
    if (earlier) return earlier;
    const response = await execute({ ...request, by: { ...request.by, idempotencyClaim: claim } });
    if (isStorable(response))
      await store.write(() => store.idempotency.recordResponse(claim, JSON.stringify(response)));
    return response;
  }

  return async (request, execute) => {
    const key = request.method === "post" ? request.header("idempotency-key") : null;
    if (key === null) return execute(request);
    if (!KEY_PATTERN.test(key))
      throw invalidValue("idempotency-key", sentence("field.must-be-1-to-255-visible-ascii-characters"));
    const claim = { owner: request.principal.userId, key, requestHash: requestHash(request) };
    const name = `${claim.owner} ${key}`;
    const earlierRequest = inFlight.get(name);
    if (earlierRequest && earlierRequest.requestHash === claim.requestHash) return earlierRequest.response;
    if (earlierRequest)
      throw new ConflictError(
        sentence("conflict.this-idempotency-key-was-already-used-for-a-different-request"),
        "Idempotency-Key",
      );
    const response = executeOnce(request, claim, execute);
    inFlight.set(name, { requestHash: claim.requestHash, response });
    try {
      return await response;
    } finally {
      inFlight.delete(name);
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
