import type { CallFailure } from "./user-agent/call.ts";

/** What a call's failure means: in words for people, and whether another try makes sense. */
export interface CallFailureExplanation {
  reason: string;
  retryable: boolean;
  /** The device is in use. */
  busy: boolean;
}

const FAILURE_MESSAGES: Readonly<Record<number, string>> = {
  401: "it does not accept the name and password",
  403: "it refuses the call",
  404: "nobody is known there by this name",
  407: "the server on the way does not accept the name and password",
  408: "it did not answer in time",
  410: "it is there no longer",
  480: "it is not registered, or can't be reached now",
  486: "it is in use",
  487: "the call was ended before it was answered",
  488: "it can't play what is sent (G.722, G.711)",
  503: "its server is overloaded",
  600: "it is in use",
  603: "it declined the call",
  604: "nobody is known there by this name",
  606: "it can't play what is sent (G.722, G.711)",
};

const BUSY_STATUSES = [486, 600];
/** What may be otherwise in a second. */
const TEMPORARY_STATUSES = [408, 480, 486, 500, 502, 503, 504, 600];

/** Words for why a call did not come about. @source RFC 3261 §21 */
export function explainCallFailure({ status, reason: words }: CallFailure): CallFailureExplanation {
  if (status === null) return { reason: words, retryable: true, busy: false };
  const known = FAILURE_MESSAGES[status];
  const said = words === "" ? String(status) : `${status} ${words.slice(0, 100)}`;
  return {
    reason: known === undefined ? `the call failed: ${said}` : `${known} (${said})`,
    retryable: TEMPORARY_STATUSES.includes(status),
    busy: BUSY_STATUSES.includes(status),
  };
}
