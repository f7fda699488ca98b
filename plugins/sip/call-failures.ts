import type { CallFailure } from "./user-agent/sip-call.ts";

/** Meaning of a failed call, and whether a retry makes sense. */
export interface CallFailureExplanation {
  reason: string;
  retryable: boolean;
  /** The device is in use. */
  busy: boolean;
  /** It does not mean that the device is off: it is busy, or the server or the credentials are at fault. */
  inconclusive: boolean;
  /** When the other side wants to be called again at the earliest. */
  retryAfterMs?: number;
}

const FAILURE_MESSAGES: Readonly<Record<number, string>> = {
  401: "authentication failed",
  403: "call refused",
  404: "unknown user",
  407: "authentication failed at the proxy",
  408: "no response",
  410: "no longer available",
  480: "not registered or unreachable",
  486: "in use",
  487: "call ended before it was answered",
  488: "no common codec (G.722, G.711)",
  503: "server unavailable",
  600: "in use",
  603: "call declined",
  604: "unknown user",
  606: "no common codec (G.722, G.711)",
};

const BUSY_STATUSES = [486, 600];
/** Statuses that may change within seconds. */
const TEMPORARY_STATUSES = [408, 480, 486, 500, 502, 503, 504, 600];

/** Statuses of a device that works, or of a server before it. */
const INCONCLUSIVE_STATUSES = [401, 403, 407, 486, 487, 488, 500, 502, 503, 504, 600, 603, 606];

/** Explains a failed call. @source RFC 3261 §21 */
export function explainCallFailure({ status, reason: detail, retryAfterMs }: CallFailure): CallFailureExplanation {
  if (status === null) return { reason: detail, retryable: true, busy: false, inconclusive: false };
  const known = FAILURE_MESSAGES[status];
  const response = detail === "" ? String(status) : `${status} ${detail.slice(0, 100)}`;
  const isRetryable = TEMPORARY_STATUSES.includes(status);
  return {
    reason: known === undefined ? `call failed: ${response}` : `${known} (${response})`,
    retryable: isRetryable,
    busy: BUSY_STATUSES.includes(status),
    inconclusive: INCONCLUSIVE_STATUSES.includes(status),
    ...(isRetryable && retryAfterMs !== undefined ? { retryAfterMs } : {}),
  };
}
