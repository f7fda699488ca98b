import type { CallFailure } from "../sip/user-agent/sip-call.ts";
import { sentence } from "./sentences.ts";

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
const FAILURES_BY_STATUS: Readonly<Record<number, readonly [kind: Kind, code: Parameters<typeof sentence>[0]]>> = {
  401: ["trunk", "failed-trunk-auth"],
  402: ["refused", "failed-no-credit"],
  403: ["refused", "failed-not-allowed"],
  404: ["number", "failed-unknown-number"],
  407: ["trunk", "failed-trunk-auth"],
  408: ["no-answer", "failed-no-answer"],
  410: ["number", "failed-number-changed"],
  480: ["no-answer", "failed-unavailable"],
  484: ["number", "failed-incomplete"],
  486: ["busy", "failed-busy"],
  487: ["no-answer", "failed-no-answer"],
  488: ["refused", "failed-no-codec"],
  503: ["trunk", "failed-trunk-unavailable"],
  600: ["busy", "failed-busy"],
  603: ["declined", "failed-declined"],
  604: ["number", "failed-unknown-number"],
  606: ["refused", "failed-no-codec"],
  607: ["declined", "failed-unwanted"],
};

/** Explains a failed call. */
export function explainTelephoneFailure({ status, reason: detail }: CallFailure): TelephoneFailure {
  if (status === null) return { kind: "trunk", reason: sentence("trunk", { detail }) };
  const [kind, code] = FAILURES_BY_STATUS[status] ?? ["refused", "failed-otherwise" as const];
  return {
    kind,
    reason: sentence(code, { response: detail === "" ? String(status) : `${status} ${detail.slice(0, 100)}` }),
  };
}
