import iconv from "iconv-lite";

/** The text of a calendar file: UTF-8 or, with a byte order mark, UTF-16; otherwise Windows-1252, in which older programs write. */
export function decodeCalendar(bytes: Buffer): string {
  const mark = bytes.subarray(0, 2).toString("hex");
  if (mark === "fffe" || mark === "feff")
    return new TextDecoder(mark === "fffe" ? "utf-16le" : "utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Some builds of Node decode windows-1252 as Latin-1.
    return iconv.decode(bytes, "windows-1252");
  }
}
