/** An HTTP response; the body decoded as UTF-8. */
export interface PhoneHttpResponse {
  status: number;
  body: string;
}

/** State of the bytes received so far: a complete response, the beginning of one, or not HTTP. */
export type HttpParseResult = PhoneHttpResponse | "incomplete" | "broken";

const HEADER_END = Buffer.from("\r\n\r\n");

/** Parses a response; `ended`: the connection is closed. @source RFC 9112 §6.3 */
export function parseHttpResponse(bytes: Buffer, ended: boolean): HttpParseResult {
  const end = bytes.indexOf(HEADER_END);
  if (end < 0) return ended ? "broken" : "incomplete";
  const head = bytes.toString("latin1", 0, end);
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/m.exec(head.split("\r\n", 1)[0] ?? "")?.[1]);
  if (Number.isNaN(status)) return "broken";
  const rest = bytes.subarray(end + HEADER_END.length);
  if (status >= 100 && status < 200) return parseHttpResponse(rest, ended);
  if (status === 204 || status === 304) return { status, body: "" };
  const body = parseBody(head, rest, ended);
  return typeof body === "string" ? body : { status, body: body.toString("utf8") };
}

function parseBody(head: string, rest: Buffer, ended: boolean): Buffer | "incomplete" | "broken" {
  if (/^transfer-encoding:.*\bchunked\s*$/im.test(head)) return parseChunks(rest, ended);
  const length = /^content-length:[ \t]*(\d{1,9})[ \t]*$/im.exec(head)?.[1];
  if (length === undefined) return ended ? rest : "incomplete";
  if (rest.length >= Number(length)) return rest.subarray(0, Number(length));
  return ended ? "broken" : "incomplete";
}

/** @source RFC 9112 §7.1 */
function parseChunks(rest: Buffer, ended: boolean): Buffer | "incomplete" | "broken" {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf("\r\n", at);
    if (lineEnd < 0) return ended ? "broken" : "incomplete";
    const size = /^([0-9a-f]{1,7})[ \t]*(?:;.*)?$/i.exec(rest.toString("latin1", at, lineEnd))?.[1];
    if (size === undefined) return "broken";
    const from = lineEnd + 2;
    const to = from + Number.parseInt(size, 16);
    if (to === from) return Buffer.concat(parts);
    if (rest.length < to + 2) return ended ? "broken" : "incomplete";
    parts.push(rest.subarray(from, to));
    at = to + 2;
  }
}
