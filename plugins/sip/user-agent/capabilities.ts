import type { Respond } from "./server-transactions.ts";
import { headerValues, type SipHeaders, type SipRequest } from "./sip-message.ts";

/** Value of the Allow header. */
export const ALLOWED_METHODS = "INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, REGISTER";

/** Extensions that calls use where the other side wants them. @source RFC 4028, RFC 3262 */
export const SUPPORTED_EXTENSIONS: readonly string[] = ["timer", "100rel"];

/** Headers of the response to OPTIONS. @source RFC 3261 §11.2 */
export const CAPABILITIES: SipHeaders = [
  ["Allow", ALLOWED_METHODS],
  ["Accept", "application/sdp"],
  ["Supported", SUPPORTED_EXTENSIONS.join(", ")],
];

/** Methods that exist, but that this side does not serve. */
const KNOWN_METHODS = ["SUBSCRIBE", "NOTIFY", "REFER", "MESSAGE", "PUBLISH", "PRACK", "REGISTER"];

/** Refuses a method. @source RFC 3261 §8.2.1, §21.5.2 */
export function refuseMethod({ method }: SipRequest, respond: Respond): void {
  if (KNOWN_METHODS.includes(method)) respond(405, "Method Not Allowed", [["Allow", ALLOWED_METHODS]]);
  else respond(501, "Not Implemented", [["Allow", ALLOWED_METHODS]]);
}

/** Refuses a request that requires an unknown extension; false if it may be handled. @source RFC 3261 §8.2.2.3 */
export function refuseExtensions(request: SipRequest, respond: Respond): boolean {
  if (["ACK", "CANCEL", "BYE"].includes(request.method)) return false;
  const unknown = headerValues(request, "Require").filter((tag) => !SUPPORTED_EXTENSIONS.includes(tag.toLowerCase()));
  if (unknown.length === 0) return false;
  respond(420, "Bad Extension", [["Unsupported", unknown.join(", ").slice(0, MAX_ECHO_LENGTH)]]);
  return true;
}

const MAX_ECHO_LENGTH = 500;
