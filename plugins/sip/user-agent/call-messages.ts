import { ALLOWED_METHODS, SUPPORTED_EXTENSIONS } from "./capabilities.ts";
import type { SipDialog } from "./dialog.ts";
import { firstHeader, type SipHeaders, type SipResponse } from "./sip-message.ts";

/** Longest wait that a Retry-After may ask for. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** A request within a dialog, with the CSeq number `number`. */
export function dialogRequest(
  { target, routes, local, remote }: SipDialog,
  callId: string,
  { method, number, headers, body }: { method: string; number: number; headers: SipHeaders; body: string },
) {
  return {
    method,
    uri: target,
    headers: [
      ...routes.map((route) => ["Route", route] as const),
      ["From", local],
      ["To", remote],
      ["Call-ID", callId],
      ["CSeq", `${number} ${method}`],
      ...headers,
    ] satisfies SipHeaders,
    body,
  };
}

/** Headers of requests and responses that make or change a session. */
export function sessionHeaders(contact: string): SipHeaders {
  return [
    ["Contact", `<${contact}>`],
    ["Allow", ALLOWED_METHODS],
    ["Supported", SUPPORTED_EXTENSIONS.join(", ")],
  ];
}

/** Time of a Retry-After header, which may have a comment and parameters; null without one. @source RFC 3261 §20.33 */
export function sipRetryAfterMs(response: SipResponse): number | null {
  const [, seconds] = /^(\d+)\s*(?:[(;].*)?$/.exec(firstHeader(response, "Retry-After")?.trim() ?? "") ?? [];
  return seconds === undefined ? null : Math.min(MAX_RETRY_AFTER_MS, Number(seconds) * 1_000);
}
