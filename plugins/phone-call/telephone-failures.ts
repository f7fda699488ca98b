import type { CallFailure } from "../sip/user-agent/sip-call.ts";

/** A failed call, as text for people. */
export interface TelephoneFailure {
  reason: string;
  /**
   * Cause: `busy`, `no-answer` and `declined` may change later; a wrong `number` is permanent; the trunk `refused` this
   * call; the `trunk` is unavailable for any call; or the appliance failed (`ours`).
   */
  kind: "busy" | "no-answer" | "declined" | "number" | "refused" | "trunk" | "ours";
}

type Kind = TelephoneFailure["kind"];

/** Meaning of statuses from telephone networks. @source RFC 3261 §21, RFC 3398 §8.2.6.1 */
const FAILURES_BY_STATUS: Readonly<Record<number, readonly [kind: Kind, message: string]>> = {
  401: ["trunk", "authentication failed at the trunk"],
  402: ["refused", "no credit on the trunk's account"],
  403: ["refused", "call not allowed by the trunk"],
  404: ["number", "unknown number"],
  407: ["trunk", "authentication failed at the trunk"],
  408: ["no-answer", "no answer"],
  410: ["number", "number changed"],
  480: ["no-answer", "telephone unavailable"],
  484: ["number", "incomplete number"],
  486: ["busy", "busy"],
  487: ["no-answer", "no answer"],
  488: ["refused", "no common codec with the trunk (G.711, G.722)"],
  503: ["trunk", "trunk unavailable"],
  600: ["busy", "busy"],
  603: ["declined", "call declined"],
  604: ["number", "unknown number"],
  606: ["refused", "no common codec with the trunk (G.711, G.722)"],
  607: ["declined", "call rejected as unwanted"],
};

/** Explains a failed call. */
export function explainTelephoneFailure({ status, reason: detail }: CallFailure): TelephoneFailure {
  if (status === null) return { kind: "trunk", reason: `trunk: ${detail}` };
  const [kind, known] = FAILURES_BY_STATUS[status] ?? ["refused", "call failed at the trunk"];
  return { kind, reason: `${known} (${detail === "" ? status : `${status} ${detail.slice(0, 100)}`})` };
}
