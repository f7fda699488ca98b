import { CallerError } from "../lib/errors.ts";

/** Something from outside that may start a message: a button, a contact closure, a request, a call, a CAP alert. */
export interface TriggerInput {
  /** What the source calls itself, stable over time. */
  source: string;
  /** Same key, same event: repeats within a day start nothing. */
  dedupeKey: string;
  /** What it says; `state` (`closed`, `pressed` …) is what rules ask for, texts and numbers fill `{{name}}` in messages. */
  values: Record<string, unknown>;
  /** True for what is only for exercise: all that it starts are drills. */
  drill?: boolean;
  /** Present when it is about a call. */
  call?: CallReport;
}

/** How far a telephone call has got. Each step is an input of its own, told in order. */
export interface CallReport {
  /** Names the call among all of the source's, such as a SIP Call-ID. */
  callId: string;
  state: "ringing" | "answered" | "ended";
  /** Number that was called, as it was dialled. */
  calledNumber: string;
  callingNumber?: string;
  /**
   * A call that a call manager sent on (`redirect`) or asks about (`routing-request`); without it the call reached the
   * appliance itself.
   */
  via?: "redirect" | "routing-request";
  /** Digits that the caller entered; kept sealed. */
  pin?: string;
}

const MAX_NAME_LENGTH = 255;
const MAX_NUMBER_LENGTH = 50;
const MAX_PIN_LENGTH = 12;
const MAX_VALUES_BYTES = 65_536;
const CALL_STATES: readonly unknown[] = ["ringing", "answered", "ended"] satisfies CallReport["state"][];
const VIA: readonly unknown[] = [undefined, "redirect", "routing-request"] satisfies CallReport["via"][];

/**
 * Checks an input as `trigger` does, so that a plugin can tell its source before anything is stored; members that are
 * not known are left out. Throws an error whose message says what is wrong.
 */
export function parseTriggerInput(given: unknown): TriggerInput {
  const { source, dedupeKey, values, drill, call } = (given ?? {}) as Record<string, unknown>;
  if (!isText(source, MAX_NAME_LENGTH) || !isText(dedupeKey, MAX_NAME_LENGTH))
    throw invalidTrigger(`source and dedupeKey are texts of 1 to ${MAX_NAME_LENGTH} characters`);
  if (!isObject(values)) throw invalidTrigger("values is an object");
  if (Buffer.byteLength(JSON.stringify(values)) > MAX_VALUES_BYTES)
    throw new CallerError("too-large", `trigger: values has at most ${MAX_VALUES_BYTES} bytes of JSON`);
  if (drill !== undefined && typeof drill !== "boolean") throw invalidTrigger("drill is true or false");
  return {
    ...{ source, dedupeKey, values },
    ...(drill === undefined ? {} : { drill }),
    ...(call === undefined ? {} : { call: parseCallReport(call) }),
  };
}

function parseCallReport(given: unknown): CallReport {
  const { callId, state, calledNumber, callingNumber, via, pin } = (given ?? {}) as Record<string, unknown>;
  if (!isText(callId, MAX_NAME_LENGTH))
    throw invalidTrigger(`call.callId is a text of 1 to ${MAX_NAME_LENGTH} characters`);
  if (!CALL_STATES.includes(state)) throw invalidTrigger(`call.state is one of ${CALL_STATES.join(", ")}`);
  if (!isText(calledNumber, MAX_NUMBER_LENGTH))
    throw invalidTrigger(`call.calledNumber is a text of 1 to ${MAX_NUMBER_LENGTH} characters`);
  if (callingNumber !== undefined && !isText(callingNumber, MAX_NUMBER_LENGTH))
    throw invalidTrigger(`call.callingNumber is a text of 1 to ${MAX_NUMBER_LENGTH} characters`);
  if (!VIA.includes(via)) throw invalidTrigger("call.via is redirect or routing-request");
  if (pin !== undefined && !isText(pin, MAX_PIN_LENGTH))
    throw invalidTrigger(`call.pin has 1 to ${MAX_PIN_LENGTH} digits`);
  return {
    ...{ callId, calledNumber, state: state as CallReport["state"] },
    ...(callingNumber === undefined ? {} : { callingNumber }),
    ...(via === undefined ? {} : { via: via as NonNullable<CallReport["via"]> }),
    ...(pin === undefined ? {} : { pin }),
  };
}

function isText(value: unknown, most: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= most;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalidTrigger(words: string): CallerError {
  return new CallerError("invalid-value", `trigger: ${words}`);
}
