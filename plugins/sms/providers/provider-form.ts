import type { SignatureScheme } from "../callback-signatures.ts";
import type { SuccessRule } from "../gateway-responses.ts";

/** Values of one message. */
export interface GatewayMessage {
  /** Base URL without a trailing slash. */
  url: string;
  /** Number as it is sent: `+` and digits, or a short code. */
  to: string;
  text: string;
  /** Empty if the provider chooses the sender. */
  sender: string;
  /** Id of the delivery; empty for replies. */
  id: string;
  user: string;
  password: string;
  /** URL for receipts of this message; empty if none are expected. */
  receiptUrl: string;
  /** The text has characters beyond the GSM alphabet. */
  isUnicode: boolean;
}

/** Request that sends a message: exactly one of `json`, `form` and `query`, or the finished `body`. */
export interface GatewayRequest {
  url: string;
  method: "POST" | "GET";
  headers?: Record<string, string>;
  json?: Readonly<Record<string, unknown>>;
  form?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string>>;
  body?: { type: string; text: string };
}

/** Receipt of a message. Paths are looked up in the body and the query; several are separated by commas. */
export interface ReceiptForm {
  id: string;
  state: string;
  /** States of delivered and of failed messages, separated by commas, case-insensitive; others mean in transit. */
  arrived: string;
  lost: string;
  /** Path of the error code or text. */
  error: string | null;
}

/** Inbound message. */
export interface InboundForm {
  from: string;
  text: string;
  /** Tells inbound messages from other events at the same URL; null if all are inbound messages. */
  event: { path: string; pattern: RegExp } | null;
}

/** How a provider takes messages, and what it sends back. */
export interface ProviderForm {
  /** Null for gateways on the site's own machines, whose URL must be configured. */
  url: string | null;
  request(message: GatewayMessage): GatewayRequest;
  success: SuccessRule;
  /** Path of the message ids in the response; null if receipts refer to the delivery. */
  messageId: string | null;
  /** Null if the provider sends none. */
  receipt: ReceiptForm | null;
  inbound: InboundForm;
  signature: SignatureScheme | null;
}

/** Success rule with defaults for its omitted members. */
export function successRule(rule: Partial<SuccessRule>): SuccessRule {
  return {
    ...{ statuses: "200-299", path: null, pattern: null, refusal: null, reason: null, temporary: null, account: null },
    ...rule,
  };
}

/** Value of an Authorization header with user name and password. @source RFC 7617 §2 */
export function basicAuthorization(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/** Number without its plus. */
export function digitsOf(number: string): string {
  return number.replace(/^\+/, "");
}
