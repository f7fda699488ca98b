import type { IncomingMessage } from "node:http";
import type { HttpResponse } from "../lib/http-response.ts";

const ALLOWED_HEADERS = "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, X-Service-Domain";
const EXPOSED_HEADERS = "Allow, ETag, Idempotency-Replayed, Retry-After, X-Request-Id";
/** How long a browser may remember what it was told, in s. own choice */
const MAX_AGE_S = 600;

/**
 * Adds to an answer what lets a page of another origin read it, where the settings name that origin. Cookies stay out of
 * it: such a page brings a token of its own. @source Fetch standard, HTTP CORS protocol; own choice: off by default
 */
export function withCorsHeaders(
  answer: HttpResponse,
  request: IncomingMessage,
  origins: readonly string[],
): HttpResponse {
  if (origins.length === 0) return answer;
  const headers: Record<string, string> = { ...answer.headers, Vary: "Origin" };
  const { origin } = request.headers;
  if (origin === undefined || !origins.includes(origin)) return { ...answer, headers };
  headers["Access-Control-Allow-Origin"] = origin;
  headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS;
  if (request.method === "OPTIONS" && headers.Allow !== undefined) {
    headers["Access-Control-Allow-Methods"] = headers.Allow;
    headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS;
    headers["Access-Control-Max-Age"] = String(MAX_AGE_S);
  }
  return { ...answer, headers };
}
