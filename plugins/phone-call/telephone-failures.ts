import type { CallFailure } from "../sip/user-agent/call.ts";

/** Why nobody was talked to, in words for people. */
export interface TelephoneFailure {
  reason: string;
  /**
   * Whose fault it is: `busy`, `no-answer` and `declined` may be otherwise later, a `number` is wrong for good; the trunk
   * has `refused` this call, or the `trunk` is not well for any call; or it is `ours`.
   */
  kind: "busy" | "no-answer" | "declined" | "number" | "refused" | "trunk" | "ours";
}

type Kind = TelephoneFailure["kind"];

/** @source RFC 3261 §21, RFC 3398 §8.2.6.1: what telephone networks say by them */
const FAILURES_BY_STATUS: Readonly<Record<number, readonly [kind: Kind, words: string]>> = {
  401: ["trunk", "the trunk does not accept name and password"],
  402: ["refused", "the trunk's account has no credit"],
  403: ["refused", "the trunk does not allow the call"],
  404: ["number", "there is no such number"],
  407: ["trunk", "the trunk does not accept name and password"],
  408: ["no-answer", "nobody answered"],
  410: ["number", "the number was changed"],
  480: ["no-answer", "the telephone can't be reached now"],
  484: ["number", "the number is not complete"],
  486: ["busy", "the line is busy"],
  487: ["no-answer", "nobody answered"],
  488: ["refused", "the trunk takes no sound that can be sent (G.711, G.722)"],
  503: ["trunk", "the trunk is overloaded or out of order"],
  600: ["busy", "the line is busy"],
  603: ["declined", "the call was declined"],
  604: ["number", "there is no such number"],
  606: ["refused", "the trunk takes no sound that can be sent (G.711, G.722)"],
  607: ["declined", "the call is not wanted there"],
};

/** Words for a call that did not come about. */
export function explainTelephoneFailure({ status, reason: words }: CallFailure): TelephoneFailure {
  if (status === null) return { kind: "trunk", reason: `the trunk: ${words}` };
  const [kind, known] = FAILURES_BY_STATUS[status] ?? ["refused", "the trunk could not place the call"];
  return { kind, reason: `${known} (${words === "" ? status : `${status} ${words.slice(0, 100)}`})` };
}
