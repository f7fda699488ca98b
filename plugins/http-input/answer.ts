import { randomUUID } from "node:crypto";
import { eventKey, machineInput, type PluginRequest, type PluginResponse, type TriggerInput } from "#plugin-api";
import { saidBy } from "./body.ts";
import { isFrom } from "./credentials.ts";
import type { Pace } from "./pace.ts";
import type { Source } from "./sources.ts";

/** What answering needs. */
export interface AnswerNeeds {
  sources: ReadonlyMap<string, Source>;
  pace: Pace;
  /** Resolves when the input is stored. */
  trigger(input: TriggerInput): Promise<void>;
}

/**
 * Answers `/x/http-input/<source>`: 202 once what it says is stored. 400 for what can't be read, 401 for a wrong secret
 * and for a source that there is not, 405, 429 for too many; what can't be stored answers 503, to be sent again.
 */
export async function answer(request: PluginRequest, { sources, pace, trigger }: AnswerNeeds): Promise<PluginResponse> {
  const source = sources.get(sourceIn(request.url));
  if (!source || !isFrom(source, request))
    return problem(401, "The secret is wrong.", { "www-authenticate": "Bearer" });
  const methods = source.inUrl ? ["POST", "PUT", "GET"] : ["POST", "PUT"];
  if (!methods.includes(request.method))
    return problem(405, `${methods.join(", ")} are taken.`, { allow: methods.join(", ") });
  const waitS = pace.begin(source.source, source.perMinute);
  if (waitS > 0) return problem(429, "That was too much for a minute.", { "retry-after": String(waitS) });
  let input: TriggerInput;
  try {
    input = machineInput(source, saidBy(request), keyOf(request, source.source));
  } catch (error) {
    return problem(400, error instanceof Error ? error.message : String(error));
  }
  try {
    await trigger(input);
  } catch {
    return problem(503, "It could not be stored. Send it again.", { "retry-after": "5" });
  }
  return json(202, { taken: true });
}

function sourceIn(url: string): string {
  const [, name = ""] = new URL(url, "http://localhost").pathname.split("/", 2);
  try {
    return decodeURIComponent(name);
  } catch {
    return "";
  }
}

/** What the sender says of its repetitions; without, each request is an event of its own. */
function keyOf({ headers }: PluginRequest, source: string): string {
  const key = headers["idempotency-key"];
  return typeof key === "string" ? eventKey(source, key) : randomUUID();
}

function problem(status: number, message: string, headers: Record<string, string> = {}): PluginResponse {
  return json(status, { status, message }, headers);
}

function json(status: number, value: object, headers: Record<string, string> = {}): PluginResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}
