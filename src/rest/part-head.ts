import { CallerError } from "../base/errors.ts";

/** What the header lines of a multipart part say; `fileName` is null for a plain field. */
export interface PartHead {
  name: string;
  fileName: string | null;
}

/** Reads the header block of one part (without its closing empty line). Throws CallerError when it names no field. */
export function readPartHead(block: string): PartHead {
  let disposition: string | null = null;
  for (const line of block.split("\r\n")) {
    const colon = line.indexOf(":");
    const field = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (field === "content-disposition") disposition = value;
    if (field === "content-transfer-encoding" && !/^(binary|7bit|8bit)$/i.test(value)) {
      throw new CallerError("unsupported-media-type", "Parts are sent as they are, without a transfer encoding.");
    }
  }
  if (disposition === null || !/^form-data\s*(;|$)/i.test(disposition)) throw malformed();
  const params = readParams(disposition);
  const name = params.get("name");
  if (name === undefined || name === "") throw malformed();
  return { name, fileName: extendedName(params.get("filename*")) ?? params.get("filename") ?? null };
}

/** What a body that is no well-formed multipart is answered with. */
export function malformed(): CallerError {
  return new CallerError("invalid-value", "The multipart body is malformed or ends too early.");
}

/**
 * The `name=value` pairs behind the first `;`. Values may be quoted; a backslash guards a quote, and browsers write
 * quotes and line ends as %22, %0D and %0A. One pass, so that a hostile line costs no more than its length.
 * @source RFC 7578 §4.2; WHATWG HTML, multipart/form-data
 */
function readParams(text: string): Map<string, string> {
  const params = new Map<string, string>();
  let at = text.indexOf(";");
  while (at >= 0 && at < text.length) {
    const equals = text.indexOf("=", at + 1);
    if (equals < 0) break;
    const name = text
      .slice(at + 1, equals)
      .trim()
      .toLowerCase();
    let start = equals + 1;
    while (text[start] === " " || text[start] === "\t") start += 1;
    const [value, end] = text[start] === '"' ? quoted(text, start + 1) : token(text, start);
    if (!params.has(name)) params.set(name, value);
    at = text.indexOf(";", end);
  }
  return params;
}

function quoted(text: string, start: number): [value: string, end: number] {
  let value = "";
  let at = start;
  for (; at < text.length && text[at] !== '"'; at++) {
    const guarded = text[at] === "\\" && (text[at + 1] === '"' || text[at + 1] === "\\");
    if (guarded) at += 1;
    value += text[at];
  }
  return [value.replace(/%22/g, '"').replace(/%0D/gi, "\r").replace(/%0A/gi, "\n"), at + 1];
}

function token(text: string, start: number): [value: string, end: number] {
  const end = text.indexOf(";", start);
  return [text.slice(start, end < 0 ? text.length : end).trim(), end < 0 ? text.length : end];
}

/** Decodes `UTF-8''na%20me`; null when it is absent or not decodable. @source RFC 5987 §3.2 */
function extendedName(value: string | undefined): string | null {
  const match = /^utf-8'[^']*'(.*)$/i.exec(value ?? "");
  try {
    return match ? decodeURIComponent(match[1] as string) : null;
  } catch {
    return null;
  }
}
