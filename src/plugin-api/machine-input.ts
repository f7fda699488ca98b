import { createHash } from "node:crypto";
import { type CallReport, parseTriggerInput, type TriggerInput } from "./trigger-input.ts";

/** How to read the payloads of a machine source. */
export interface MachineInputOptions {
  /** Name of the source. */
  source: string;
  /** Payload member that holds the state; default `state`. */
  stateMember?: string;
  /** Payload member that identifies the event, for deduplication. */
  idMember?: string;
  /** Read the member `call` as a call report. */
  calls?: boolean;
}

/**
 * Converts a payload to a trigger input. An object becomes the input's values; any other value is the state (`closed`,
 * 1, true). The state member is also provided as the string `state`. `dedupeKey` applies if the payload has no event
 * id. Throws an Error with a message for people.
 */
export function toTriggerInput(
  { source, stateMember = "state", idMember, calls = false }: MachineInputOptions,
  payload: unknown,
  dedupeKey: string,
): TriggerInput {
  const members = isObject(payload) ? payload : { [stateMember]: payload };
  const { call, ...rest } = members;
  const state = members[stateMember];
  const id = idMember === undefined ? undefined : members[idMember];
  const values = { ...(calls ? rest : members), ...(isPrimitive(state) ? { state: String(state) } : {}) };
  return parseTriggerInput({
    source,
    dedupeKey: isPrimitive(id) ? dedupeKeyOf(source, String(id)) : dedupeKey,
    values,
    ...(calls && call !== undefined ? { call: call as CallReport } : {}),
  });
}

/** Deduplication key of an event id chosen by the source. */
export function dedupeKeyOf(source: string, id: string): string {
  return createHash("sha256").update(`${source}\n${id}`).digest("hex");
}

/** Parses a payload as JSON, else returns it as text. */
export function parsePayload(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes).trim();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isPrimitive(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
