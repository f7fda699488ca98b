import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw, inflateRaw, inflateRawSync } from "node:zlib";
import { UpstreamError } from "../../lib/errors.ts";
import { COMPRESSION_DICTIONARY } from "./compression-dictionary.ts";

/** First byte of a binary frame: the rest is raw deflate. @source docs/decisions/0040-replication.md, Section 6 */
const RAW_DEFLATE = 1;
/** @source docs/decisions/0040-replication.md, Section 3 */
const LEVEL = 3;
const dictionary = Buffer.from(COMPRESSION_DICTIONARY);
/** Identifies the dictionary in the subprotocol name. */
export const DICTIONARY_NAME = `d${createHash("sha256").update(dictionary).digest("hex").slice(0, 8)}`;
const deflate = promisify<Buffer, object, Buffer>(deflateRaw);
const inflate = promisify<Buffer, object, Buffer>(inflateRaw);

/** Compresses a frame without context of earlier frames, so that a link keeps no compression state. */
export async function compressFrame(text: string): Promise<Buffer> {
  const packed = await deflate(Buffer.from(text), { level: LEVEL, dictionary });
  return Buffer.concat([Buffer.of(RAW_DEFLATE), packed]);
}

/** The text of a compressed frame. Rejects if it is malformed or longer than `maxBytes` when decompressed. */
export async function decompressFrame(frame: Buffer, maxBytes: number): Promise<string> {
  return (await inflate(compressedPayload(frame), { dictionary, maxOutputLength: maxBytes })).toString();
}

/** Longest text that is decompressed synchronously. @source docs/decisions/0300-sync-limits.md */
const MAX_SYNC_BYTES = 256 * 1024;

/** As `decompressFrame`, but synchronous; null if the text is too long for that. Throws if the frame is malformed. */
export function decompressFrameSync(frame: Buffer): string | null {
  try {
    return inflateRawSync(compressedPayload(frame), { dictionary, maxOutputLength: MAX_SYNC_BYTES }).toString();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return null;
    throw error;
  }
}

function compressedPayload(frame: Buffer): Buffer {
  if (frame[0] !== RAW_DEFLATE) throw new UpstreamError("upstream", "Unknown frame compression.");
  return frame.subarray(1);
}
