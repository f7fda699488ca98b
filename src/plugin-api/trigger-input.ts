import { CallerError } from "../base/errors.ts";

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

const LONGEST_NAME = 255;
const LONGEST_NUMBER = 50;
const LONGEST_PIN = 12;
const MOST_BYTES = 65_536;
const CALL_STATES: readonly unknown[] = ["ringing", "answered", "ended"] satisfies CallReport["state"][];
const VIA: readonly unknown[] = [undefined, "redirect", "routing-request"] satisfies CallReport["via"][];

/**
 * Checks an input as `trigger` does, so that a plugin can tell its source before anything is stored; members that are
 * not known are left out. Throws an error whose message says what is wrong.
 */
export function readTrigger(given: unknown): TriggerInput {
  const { source, dedupeKey, values, drill, call } = (given ?? {}) as Record<string, unknown>;
  if (!isText(source, LONGEST_NAME) || !isText(dedupeKey, LONGEST_NAME))
    throw wrong(`source and dedupeKey are texts of 1 to ${LONGEST_NAME} characters`);
  if (!isObject(values)) throw wrong("values is an object");
  if (Buffer.byteLength(JSON.stringify(values)) > MOST_BYTES)
    throw new CallerError("too-large", `trigger: values has at most ${MOST_BYTES} bytes of JSON`);
  if (drill !== undefined && typeof drill !== "boolean") throw wrong("drill is true or false");
  return {
    ...{ source, dedupeKey, values },
    ...(drill === undefined ? {} : { drill }),
    ...(call === undefined ? {} : { call: readCall(call) }),
  };
}

function readCall(given: unknown): CallReport {
  const { callId, state, calledNumber, callingNumber, via, pin } = (given ?? {}) as Record<string, unknown>;
  if (!isText(callId, LONGEST_NAME)) throw wrong(`call.callId is a text of 1 to ${LONGEST_NAME} characters`);
  if (!CALL_STATES.includes(state)) throw wrong(`call.state is one of ${CALL_STATES.join(", ")}`);
  if (!isText(calledNumber, LONGEST_NUMBER))
    throw wrong(`call.calledNumber is a text of 1 to ${LONGEST_NUMBER} characters`);
  if (callingNumber !== undefined && !isText(callingNumber, LONGEST_NUMBER))
    throw wrong(`call.callingNumber is a text of 1 to ${LONGEST_NUMBER} characters`);
  if (!VIA.includes(via)) throw wrong("call.via is redirect or routing-request");
  if (pin !== undefined && !isText(pin, LONGEST_PIN)) throw wrong(`call.pin has 1 to ${LONGEST_PIN} digits`);
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

function wrong(words: string): CallerError {
  return new CallerError("invalid-value", `trigger: ${words}`);
}
