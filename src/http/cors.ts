import type { IncomingMessage } from "node:http";
import type { HttpResponse } from "../lib/http-response.ts";

const ALLOWED_HEADERS = "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, X-Service-Domain";
const EXPOSED_HEADERS = "Allow, ETag, Idempotency-Replayed, Retry-After, X-Request-Id";
/** How long a browser may cache a preflight response, s. */
const MAX_AGE_S = 600;

/**
 * Adds CORS headers if the origin is listed in the settings. Credentials are not allowed, so such a page must send
 * its own token.
 * @source Fetch standard, HTTP CORS protocol
 */
export function withCorsHeaders(
  response: HttpResponse,
  request: IncomingMessage,
  origins: readonly string[],
): HttpResponse {
  if (origins.length === 0) return response;
  const headers: Record<string, string> = { ...response.headers, Vary: "Origin" };
  const { origin } = request.headers;
  if (origin === undefined || !origins.includes(origin)) return { ...response, headers };
  headers["Access-Control-Allow-Origin"] = origin;
  headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS;
  if (request.method === "OPTIONS" && headers.Allow !== undefined) {
    headers["Access-Control-Allow-Methods"] = headers.Allow;
    headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS;
    headers["Access-Control-Max-Age"] = String(MAX_AGE_S);
  }
  return { ...response, headers };
}
