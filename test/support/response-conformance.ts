import type { ApiDocument, ResponseValidator } from "./conformance.ts";

/**
 * Once in each process that runs tests: whatever a test or the product asks an appliance for by `fetch`, the answer must be what the
 * API's description says; else the call fails and names the operation. Each server is held against its own description,
 * so that a test may add declarations.
 */
const plainFetch = globalThis.fetch;
const validators = new Map<string, Promise<ResponseValidator | null>>();
const byVersion = new Map<string, ResponseValidator>();

globalThis.fetch = async (input, init) => {
  const request = new URL(input instanceof Request ? input.url : input);
  if (!request.pathname.startsWith("/api/") || request.protocol !== "http:") return plainFetch(input, init);
  const known = await validatorOf(request.origin);
  const response = await plainFetch(input, init);
  if (!known) return response;
  const contentType = response.headers.get("content-type");
  const isJson = contentType?.startsWith("application/json") ?? false;
  const method = (init?.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase();
  const text = isJson && method !== "HEAD" ? await response.clone().text() : null;
  // Whether `_method` is heeded is a setting of the appliance, so the answer may be that of either method.
  const named = request.searchParams.get("_method")?.toUpperCase() ?? method;
  const faultOf = (judge: ResponseValidator, as: string) =>
    judge({ method: as, path: request.pathname, status: response.status, contentType, text });
  const faultBy = (judge: ResponseValidator) => faultOf(judge, method) && faultOf(judge, named);
  const fault = faultBy(known) && faultBy((await refreshValidator(request.origin)) ?? known);
  if (fault) throw new Error(`The answer is not what the API's description says: ${fault}`);
  return response;
};

function validatorOf(origin: string): Promise<ResponseValidator | null> {
  const known = validators.get(origin) ?? loadValidator(origin);
  validators.set(origin, known);
  // A server that is not ready yet is asked again.
  void known.then((judge) => judge ?? validators.delete(origin));
  return known;
}

/** Another server may stand at the address of one that has ended. */
function refreshValidator(origin: string): Promise<ResponseValidator | null> {
  validators.delete(origin);
  return validatorOf(origin);
}

async function loadValidator(origin: string): Promise<ResponseValidator | null> {
  const response = await plainFetch(`${origin}/api/v1/openapi.json`).catch(() => null);
  if (response?.status !== 200) return null;
  const version = response.headers.get("etag") ?? origin;
  const text = await response.text();
  const { createResponseValidator } = await import("./conformance.ts");
  const judge = byVersion.get(version) ?? createResponseValidator(JSON.parse(text) as ApiDocument);
  byVersion.set(version, judge);
  return judge;
}
