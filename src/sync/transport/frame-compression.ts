import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw, inflateRaw, inflateRawSync } from "node:zlib";
import { UpstreamError } from "../../lib/errors.ts";
import { COMPRESSION_DICTIONARY } from "./compression-dictionary.ts";

/** Says that the rest of a binary frame is raw deflate. @source replication.md 6 */
const RAW_DEFLATE = 1;
/** @source replication.md 3 */
const LEVEL = 3;
const dictionary = Buffer.from(COMPRESSION_DICTIONARY);
/** Both sides have the same dictionary if they name it alike. */
export const DICTIONARY_NAME = `d${createHash("sha256").update(dictionary).digest("hex").slice(0, 8)}`;
const deflate = promisify<Buffer, object, Buffer>(deflateRaw);
const inflate = promisify<Buffer, object, Buffer>(inflateRaw);

/** Packs the text of a frame, with no memory of those before: a link keeps no buffer for it. */
export async function compressFrame(text: string): Promise<Buffer> {
  const packed = await deflate(Buffer.from(text), { level: LEVEL, dictionary });
  return Buffer.concat([Buffer.of(RAW_DEFLATE), packed]);
}

/** The text of a packed frame. Rejects for what is none, or longer than `mostBytes` when unpacked. */
export async function decompressFrame(frame: Buffer, mostBytes: number): Promise<string> {
  return (await inflate(compressedPayload(frame), { dictionary, maxOutputLength: mostBytes })).toString();
}

/** Longest text that is unpacked within a turn. own choice: some pages, some ms at most */
const MAX_SYNC_BYTES = 256 * 1024;

/** As `unpack`, within this turn of the event loop; null for what is too long for that. Throws for what is no packed frame. */
export function decompressFrameSync(frame: Buffer): string | null {
  try {
    return inflateRawSync(compressedPayload(frame), { dictionary, maxOutputLength: MAX_SYNC_BYTES }).toString();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return null;
    throw error;
  }
}

function compressedPayload(frame: Buffer): Buffer {
  if (frame[0] !== RAW_DEFLATE) throw new UpstreamError("upstream", "It is not packed in a way that is known.");
  return frame.subarray(1);
}
