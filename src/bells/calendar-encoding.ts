import iconv from "iconv-lite";

/**
 * The text of a calendar file: UTF-8 or, with a byte order mark, UTF-16; otherwise Windows-1252, in which older programs write.
 * UTF-8 may be folded within a character. @source RFC 5545, section 3.1
 */
export function decodeCalendar(bytes: Buffer): string {
  const mark = bytes.subarray(0, 2).toString("hex");
  if (mark === "fffe" || mark === "feff")
    return new TextDecoder(mark === "fffe" ? "utf-16le" : "utf-16be").decode(bytes);
  // Some builds of Node decode windows-1252 as Latin-1.
  return decodeUtf8(bytes) ?? decodeUtf8(unfold(bytes)) ?? iconv.decode(bytes, "windows-1252");
}

/** Null for bytes that are no UTF-8. */
function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function unfold(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString("latin1").replace(/(?:\r\n|\n|\r)[ \t]/g, ""), "latin1");
}
