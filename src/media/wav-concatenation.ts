import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { inspectWav } from "./wav.ts";

/**
 * Joins WAV files with `gapMs` of silence between them. Throws UpstreamError for different formats and CallerError for
 * a file that is not WAV.
 */
export function concatenateWavs(files: readonly Uint8Array[], gapMs: number): Uint8Array {
  const [first] = files;
  if (!first || files.length === 1) return first ?? new Uint8Array(0);
  const head = inspectWav(first);
  const frameBytes = (head.channels * head.bits) / 8;
  const gap = Buffer.alloc(Math.round((gapMs * head.rateHz) / 1_000) * frameBytes, head.bits === 8 ? 128 : 0);
  const pieces = files.map((file, at) => {
    const { rateHz, channels, bits, float, offset, frames } = inspectWav(file);
    if (rateHz !== head.rateHz || channels !== head.channels || bits !== head.bits || float !== head.float)
      throw new UpstreamError("upstream", sentence("error.the-spoken-parts-have-different-audio-formats"));
    const sound = file.subarray(offset, offset + frames * frameBytes);
    return at === 0 ? [sound] : [gap, sound];
  });
  const joined = Buffer.concat([first.subarray(0, head.offset), ...pieces.flat()]);
  joined.writeUInt32LE(joined.length - 8, 4);
  joined.writeUInt32LE(joined.length - head.offset, head.offset - 4);
  return joined;
}
