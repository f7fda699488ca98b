import { createHash } from "node:crypto";
import { type CallReport, parseTriggerInput, type TriggerInput } from "./trigger-input.ts";

/** What is known of a machine that says something. */
export interface MachineInputOptions {
  /** What it is called. */
  source: string;
  /** Member of what it says that holds its state; `state` unless given. */
  stateMember?: string;
  /** Member of what it says that names the event, so that a repetition is known as one. */
  idMember?: string;
  /** A member `call` is the report of a call. */
  calls?: boolean;
}

/**
 * The input that a machine's words are: an object as it is, anything else is the state itself (`closed`, 1, true). The
 * member that holds the state is told as `state`, in words. Where it names no event, `dedupeKey` does. Throws an error whose
 * message says what is wrong.
 */
export function toTriggerInput(
  { source, stateMember = "state", idMember, calls = false }: MachineInputOptions,
  said: unknown,
  dedupeKey: string,
): TriggerInput {
  const members = isObject(said) ? said : { [stateMember]: said };
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

/** The key of an event that its source names. */
export function dedupeKeyOf(source: string, id: string): string {
  return createHash("sha256").update(`${source}\n${id}`).digest("hex");
}

/** What bytes of a machine say: JSON where they are JSON, else the text they are. */
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
