import { splitUnquoted } from "./sip-uri.ts";

/** Header fields in order, with canonical names. */
export type SipHeaders = readonly (readonly [name: string, value: string])[];

/** A request. @source RFC 3261 §7.1 */
export interface SipRequest {
  kind: "request";
  method: string;
  uri: string;
  headers: SipHeaders;
  body: string;
}

/** A response. @source RFC 3261 §7.2 */
export interface SipResponse {
  kind: "response";
  status: number;
  reason: string;
  headers: SipHeaders;
  body: string;
}

/** A request or a response. */
export type SipMessage = SipRequest | SipResponse;

/** Limits of a message; no legitimate device exceeds them. */
const MAX_HEADER_BYTES = 16_384;
const MAX_BODY_BYTES = 65_536;
const MAX_HEADERS = 128;
const MAX_SEQUENCE = 2 ** 31;

/** @source RFC 3261 §20, RFC 3515, RFC 4028, RFC 6665 */
const COMPACT_NAMES: Readonly<Record<string, string>> = {
  c: "Content-Type",
  e: "Content-Encoding",
  f: "From",
  i: "Call-ID",
  k: "Supported",
  l: "Content-Length",
  m: "Contact",
  o: "Event",
  r: "Refer-To",
  s: "Subject",
  t: "To",
  u: "Allow-Events",
  v: "Via",
  x: "Session-Expires",
};

const START_OF_REQUEST = /^([A-Za-z0-9.!%*_+`'~-]{1,64}) (\S{1,2048}) SIP\/2\.0$/;
const START_OF_RESPONSE = /^SIP\/2\.0 ([1-6]\d\d)(?: (.{0,256}))?$/;
const HEADER = /^([A-Za-z0-9.!%*_+`'~-]{1,64})[ \t]{0,8}:[ \t]{0,64}([^\r\n\0]*)$/;
const REQUIRED_HEADERS = ["Via", "From", "To", "Call-ID", "CSeq"];

/** All values of a header, in order, split at commas. */
export function headerValues({ headers }: Pick<SipMessage, "headers">, name: string): string[] {
  const wanted = name.toLowerCase();
  return headers.filter(([known]) => known.toLowerCase() === wanted).flatMap(([, value]) => splitUnquoted(value, ","));
}

/** First header field with this name, unsplit; null if missing. */
export function firstHeader({ headers }: Pick<SipMessage, "headers">, name: string): string | null {
  const wanted = name.toLowerCase();
  return headers.find(([known]) => known.toLowerCase() === wanted)?.[1] ?? null;
}

/** Header fields with this name, unsplit: challenges contain commas. */
export function rawHeaders({ headers }: Pick<SipMessage, "headers">, name: string): string[] {
  const wanted = name.toLowerCase();
  return headers.filter(([known]) => known.toLowerCase() === wanted).map(([, value]) => value);
}

/** CSeq number and method. */
export function cseqOf(message: SipMessage): { number: number; method: string } {
  const [number = "0", method = ""] = (firstHeader(message, "CSeq") ?? "").split(/\s+/);
  return { number: Number(number), method };
}

/** Offset after the empty line that ends the head; -1 if incomplete. */
export function headerEnd(bytes: Buffer): number {
  const at = bytes.indexOf("\r\n\r\n");
  return at < 0 ? -1 : at + 4;
}

/** True if a complete or partial head is too long. */
export function isHeaderTooLong(headBytes: number): boolean {
  return headBytes > MAX_HEADER_BYTES;
}

/** Content-Length of a head, null if missing; NaN if invalid. */
export function contentLength(head: string): number | null {
  const found = /\r\n(?:content-length|l)[ \t]{0,8}:[ \t]{0,64}(\d{1,9})[ \t]{0,64}\r\n/i.exec(head);
  if (!found) return /\r\n(?:content-length|l)[ \t]{0,8}:/i.test(head) ? Number.NaN : null;
  const length = Number(found[1]);
  return length <= MAX_BODY_BYTES ? length : Number.NaN;
}

/** Parses one complete message; null if invalid. */
export function parseSipMessage(bytes: Buffer): SipMessage | null {
  const end = headerEnd(bytes);
  if (end < 0 || isHeaderTooLong(end)) return null;
  const head = bytes.toString("latin1", 0, end);
  const length = contentLength(head);
  const rest = bytes.length - end;
  if (Number.isNaN(length) || (length ?? rest) > rest || rest > MAX_BODY_BYTES) return null;
  const [start = "", ...lines] = unfoldLines(bytes.toString("utf8", 0, end - 4));
  const headers = parseHeaders(lines);
  if (!headers) return null;
  const body = bytes.toString("utf8", end, end + (length ?? rest));
  const message = parseStartLine(start, headers, body);
  return message && isValidMessage(message) ? message : null;
}

function unfoldLines(head: string): string[] {
  return head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
}

function parseHeaders(lines: readonly string[]): SipHeaders | null {
  if (lines.length > MAX_HEADERS) return null;
  const headers: [string, string][] = [];
  for (const line of lines) {
    const found = HEADER.exec(line);
    if (!found) return null;
    const [, name = "", value = ""] = found;
    headers.push([COMPACT_NAMES[name.toLowerCase()] ?? name, value.trim()]);
  }
  return headers;
}

function parseStartLine(line: string, headers: SipHeaders, body: string): SipMessage | null {
  const response = START_OF_RESPONSE.exec(line);
  if (response) return { kind: "response", status: Number(response[1]), reason: response[2] ?? "", headers, body };
  const request = START_OF_REQUEST.exec(line);
  if (!request) return null;
  return { kind: "request", method: request[1] ?? "", uri: request[2] ?? "", headers, body };
}

function isValidMessage(message: SipMessage): boolean {
  if (REQUIRED_HEADERS.some((name) => (firstHeader(message, name) ?? "") === "")) return false;
  if (["From", "To", "Call-ID", "CSeq"].some((name) => rawHeaders(message, name).length !== 1)) return false;
  // Two lengths would let one peer hide a message from another.
  if (rawHeaders(message, "Content-Length").length > 1) return false;
  const { number, method } = cseqOf(message);
  if (!Number.isInteger(number) || number < 0 || number >= MAX_SEQUENCE || method === "") return false;
  return message.kind === "response" || message.method === method;
}

/** Formats a message and adds Content-Length. */
export function formatSipMessage(message: SipMessage): Buffer {
  const start =
    message.kind === "request"
      ? `${message.method} ${message.uri} SIP/2.0`
      : `SIP/2.0 ${message.status} ${message.reason}`;
  const lines = message.headers.map(([name, value]) => `${name}: ${value}`);
  const body = Buffer.from(message.body, "utf8");
  const head = [start, ...lines, `Content-Length: ${body.length}`].join("\r\n");
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "utf8"), body]);
}
