import { randomUUID } from "node:crypto";
import { dedupeKeyOf, type PluginRequest, type PluginResponse, type TriggerInput, toTriggerInput } from "#plugin-api";
import type { HttpInputSource } from "./input-sources.ts";
import type { SourceRateLimiter } from "./rate-limiter.ts";
import { parseRequestContent } from "./request-content.ts";
import { isAuthenticated } from "./source-authentication.ts";

export interface InputRequestDeps {
  sources: ReadonlyMap<string, HttpInputSource>;
  rateLimiter: SourceRateLimiter;
  /** Resolves when stored. */
  trigger(input: TriggerInput): Promise<void>;
}

/**
 * Handles `/x/http-input/<source>`: 202 once the input is stored, 400 for an unreadable body, 401 for a wrong secret or
 * an unknown source, 405, 429 over the rate limit, 503 if storing failed, to be retried.
 */
export async function handleInputRequest(
  request: PluginRequest,
  { sources, rateLimiter, trigger }: InputRequestDeps,
): Promise<PluginResponse> {
  const source = sources.get(sourceNameIn(request.url));
  if (!source || !isAuthenticated(source, request))
    return errorResponse(401, "Invalid secret.", { "www-authenticate": "Bearer" });
  const methods = source.inUrl ? ["POST", "PUT", "GET"] : ["POST", "PUT"];
  if (!methods.includes(request.method))
    return errorResponse(405, `The method must be one of ${methods.join(", ")}.`, { allow: methods.join(", ") });
  const waitS = rateLimiter.waitSeconds(source.source, source.perMinute);
  if (waitS > 0) return errorResponse(429, "Rate limit exceeded.", { "retry-after": String(waitS) });
  let input: TriggerInput;
  try {
    input = toTriggerInput(source, parseRequestContent(request), eventKeyFor(request, source.source));
  } catch (error) {
    return errorResponse(400, error instanceof Error ? error.message : String(error));
  }
  try {
    await trigger(input);
  } catch {
    return errorResponse(503, "The input could not be stored. Retry the request.", { "retry-after": "5" });
  }
  return jsonResponse(202, { taken: true });
}

function sourceNameIn(url: string): string {
  const [, name = ""] = new URL(url, "http://localhost").pathname.split("/", 2);
  try {
    return decodeURIComponent(name);
  } catch {
    return "";
  }
}

/** The sender's Idempotency-Key; without it, each request is a new event. */
function eventKeyFor({ headers }: PluginRequest, source: string): string {
  const key = headers["idempotency-key"];
  return typeof key === "string" ? dedupeKeyOf(source, key) : randomUUID();
}

function errorResponse(status: number, message: string, headers: Record<string, string> = {}): PluginResponse {
  return jsonResponse(status, { status, message }, headers);
}

function jsonResponse(status: number, value: object, headers: Record<string, string> = {}): PluginResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}
