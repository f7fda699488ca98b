import { randomUUID } from "node:crypto";
import { dedupeKeyOf, type PluginRequest, type PluginResponse, type TriggerInput, toTriggerInput } from "#plugin-api";
import type { HttpInputSource } from "./input-sources.ts";
import type { SourceRateLimiter } from "./rate-limiter.ts";
import { parseRequestContent } from "./request-content.ts";
import { isAuthenticated } from "./source-authentication.ts";

/** What answering needs. */
export interface InputRequestDeps {
  sources: ReadonlyMap<string, HttpInputSource>;
  rateLimiter: SourceRateLimiter;
  /** Resolves when the input is stored. */
  trigger(input: TriggerInput): Promise<void>;
}

/**
 * Answers `/x/http-input/<source>`: 202 once what it says is stored. 400 for what can't be read, 401 for a wrong secret
 * and for a source that there is not, 405, 429 for too many; what can't be stored answers 503, to be sent again.
 */
export async function handleInputRequest(
  request: PluginRequest,
  { sources, rateLimiter, trigger }: InputRequestDeps,
): Promise<PluginResponse> {
  const source = sources.get(sourceNameIn(request.url));
  if (!source || !isAuthenticated(source, request))
    return errorResponse(401, "The secret is wrong.", { "www-authenticate": "Bearer" });
  const methods = source.inUrl ? ["POST", "PUT", "GET"] : ["POST", "PUT"];
  if (!methods.includes(request.method))
    return errorResponse(405, `${methods.join(", ")} are taken.`, { allow: methods.join(", ") });
  const waitS = rateLimiter.waitSeconds(source.source, source.perMinute);
  if (waitS > 0) return errorResponse(429, "That was too much for a minute.", { "retry-after": String(waitS) });
  let input: TriggerInput;
  try {
    input = toTriggerInput(source, parseRequestContent(request), eventKeyFor(request, source.source));
  } catch (error) {
    return errorResponse(400, error instanceof Error ? error.message : String(error));
  }
  try {
    await trigger(input);
  } catch {
    return errorResponse(503, "It could not be stored. Send it again.", { "retry-after": "5" });
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

/** What the sender says of its repetitions; without, each request is an event of its own. */
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
