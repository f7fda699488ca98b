import { sentence } from "./sentences.ts";
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

const FAILURE_MESSAGES: Readonly<Record<number, Parameters<typeof sentence>[0]>> = {
  401: "failed-auth-failed",
  403: "failed-refused",
  404: "failed-unknown-user",
  407: "failed-proxy-auth",
  408: "failed-no-response",
  410: "failed-gone",
  480: "failed-unreachable",
  486: "failed-in-use",
  487: "failed-ended-early",
  488: "failed-no-codec",
  503: "failed-unavailable",
  600: "failed-in-use",
  603: "failed-declined",
  604: "failed-unknown-user",
  606: "failed-no-codec",
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
    reason: sentence(known ?? "failed-otherwise", { response }),
    retryable: isRetryable,
    busy: BUSY_STATUSES.includes(status),
    inconclusive: INCONCLUSIVE_STATUSES.includes(status),
    ...(isRetryable && retryAfterMs !== undefined ? { retryAfterMs } : {}),
  };
}
