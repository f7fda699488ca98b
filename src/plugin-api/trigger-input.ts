import { CallerError } from "../lib/errors.ts";

/** An external event that may start a message: a button, a contact closure, a request, a call, a CAP alert. */
export interface TriggerInput {
  /** Stable name of the source. */
  source: string;
  /** Deduplication key: repeats within a day start nothing. */
  dedupeKey: string;
  /** Payload. Rules compare `state` (`closed`, `pressed` …); strings and numbers fill `{{name}}` in messages. */
  values: Record<string, unknown>;
  /** True for exercises: everything it starts is a drill. */
  drill?: boolean;
  /** Present for call events. */
  call?: CallReport;
}

/** Progress of a telephone call. Each step is a separate input, in order. */
export interface CallReport {
  /** Identifies the call within the source, such as a SIP Call-ID. */
  callId: string;
  state: "ringing" | "answered" | "ended";
  /** Called number as dialled. */
  calledNumber: string;
  callingNumber?: string;
  /**
   * Set if a call manager redirected the call (`redirect`) or asks how to route it (`routing-request`); absent if the
   * call reached the appliance itself.
   */
  via?: "redirect" | "routing-request";
  /** Digits entered by the caller; stored encrypted. */
  pin?: string;
}

const MAX_NAME_LENGTH = 255;
const MAX_NUMBER_LENGTH = 50;
const MAX_PIN_LENGTH = 12;
const MAX_VALUES_BYTES = 65_536;
const CALL_STATES: readonly unknown[] = ["ringing", "answered", "ended"] satisfies CallReport["state"][];
const VIA: readonly unknown[] = [undefined, "redirect", "routing-request"] satisfies CallReport["via"][];

/**
 * Validates an input as `trigger` does, so that a plugin can respond before anything is stored. Unknown members are
 * dropped. Throws CallerError.
 */
export function parseTriggerInput(given: unknown): TriggerInput {
  const { source, dedupeKey, values, drill, call } = (given ?? {}) as Record<string, unknown>;
  if (!isText(source, MAX_NAME_LENGTH) || !isText(dedupeKey, MAX_NAME_LENGTH))
    throw invalidTrigger(`source and dedupeKey must be strings of 1 to ${MAX_NAME_LENGTH} characters`);
  if (!isObject(values)) throw invalidTrigger("values must be an object");
  if (Buffer.byteLength(JSON.stringify(values)) > MAX_VALUES_BYTES)
    throw new CallerError("too-large", `trigger: values must not exceed ${MAX_VALUES_BYTES} bytes of JSON`);
  if (drill !== undefined && typeof drill !== "boolean") throw invalidTrigger("drill must be true or false");
  return {
    ...{ source, dedupeKey, values },
    ...(drill === undefined ? {} : { drill }),
    ...(call === undefined ? {} : { call: parseCallReport(call) }),
  };
}

function parseCallReport(given: unknown): CallReport {
  const { callId, state, calledNumber, callingNumber, via, pin } = (given ?? {}) as Record<string, unknown>;
  if (!isText(callId, MAX_NAME_LENGTH))
    throw invalidTrigger(`call.callId must be a string of 1 to ${MAX_NAME_LENGTH} characters`);
  if (!CALL_STATES.includes(state)) throw invalidTrigger(`call.state must be one of ${CALL_STATES.join(", ")}`);
  if (!isText(calledNumber, MAX_NUMBER_LENGTH))
    throw invalidTrigger(`call.calledNumber must be a string of 1 to ${MAX_NUMBER_LENGTH} characters`);
  if (callingNumber !== undefined && !isText(callingNumber, MAX_NUMBER_LENGTH))
    throw invalidTrigger(`call.callingNumber must be a string of 1 to ${MAX_NUMBER_LENGTH} characters`);
  if (!VIA.includes(via)) throw invalidTrigger("call.via must be redirect or routing-request");
  if (pin !== undefined && !isText(pin, MAX_PIN_LENGTH))
    throw invalidTrigger(`call.pin must have 1 to ${MAX_PIN_LENGTH} digits`);
  return {
    ...{ callId, calledNumber, state: state as CallReport["state"] },
    ...(callingNumber === undefined ? {} : { callingNumber }),
    ...(via === undefined ? {} : { via: via as NonNullable<CallReport["via"]> }),
    ...(pin === undefined ? {} : { pin }),
  };
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxLength;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalidTrigger(message: string): CallerError {
  return new CallerError("invalid-value", `trigger: ${message}`);
}
