/**
 * Text of a document in the encoding of its byte order mark, else of its XML declaration, else of the response's header.
 * Where it is not valid in any of those it is read as Windows-1252, because an alert with a wrong letter is better than
 * none. Throws RangeError for a declared encoding that is not known. @source XML 1.0 §F.1; RFC 7303 §3
 */
export function decodeDocument(bytes: Uint8Array, contentType = ""): string {
  const marked = MARKS.find(({ mark }) => mark.every((byte, at) => bytes[at] === byte));
  if (marked) return new TextDecoder(marked.encoding).decode(bytes);
  const sent = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1];
  const declared = declaredEncoding(bytes);
  const candidates = [declared, sent, "utf-8"].filter((each) => each !== undefined && each !== null);
  for (const encoding of candidates) {
    const text = decoded(bytes, encoding);
    if (text !== null) return text;
  }
  if (declared !== null && !isKnown(declared)) throw new RangeError(`encoding ${declared} is not known`);
  return new TextDecoder("windows-1252").decode(bytes);
}

const MARKS = [
  { mark: [0xef, 0xbb, 0xbf], encoding: "utf-8" },
  { mark: [0xff, 0xfe], encoding: "utf-16le" },
  { mark: [0xfe, 0xff], encoding: "utf-16be" },
  // `<` and a zero byte, without a byte order mark.
  { mark: [0x3c, 0x00], encoding: "utf-16le" },
  { mark: [0x00, 0x3c], encoding: "utf-16be" },
];

/** Longest XML declaration that is read. */
const MAX_DECLARATION = 200;

function declaredEncoding(bytes: Uint8Array): string | null {
  const head = new TextDecoder("windows-1252").decode(bytes.subarray(0, MAX_DECLARATION));
  const encoding = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/.exec(head)?.[1] ?? null;
  // The declaration was read byte by byte, so it is no UTF-16.
  return encoding !== null && /^utf-?16/i.test(encoding) ? null : encoding;
}

/** Null if the bytes are not valid in it or it is not known. */
function decoded(bytes: Uint8Array, encoding: string): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function isKnown(encoding: string): boolean {
  try {
    return new TextDecoder(encoding).encoding !== "";
  } catch {
    return false;
  }
}
