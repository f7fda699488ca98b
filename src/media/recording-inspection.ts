import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { inspectWav, sampleReader, type WavInfo } from "./wav.ts";

/** Number of windows checked in a recording, spread evenly: some ms of work whatever its length. */
const MAX_WINDOWS = 400;
const WINDOW_SAMPLES = 1_024;
/**
 * Clipping threshold, one step below full scale for coarse samples; a single sample is a peak, several in a row are
 * clipping.
 */
const FULL_SCALE = 0.999;
const MIN_CONSECUTIVE_SAMPLES = 3;
/** Loud music has some tenths of a percent; unintelligible speech has several. */
const MAX_CLIPPED_SHARE = 0.03;
const AUDIBLE_LEVEL = 0.01;

/**
 * Checks an uploaded recording: as inspectWav, and at most 3 % of its audible samples may be clipped, which cannot be
 * repaired afterwards. Throws CallerError naming `field` and the problem.
 */
export function inspectRecording(bytes: Uint8Array, field = "audio"): WavInfo {
  const info = inspectWav(bytes, field);
  const share = clippedShare(bytes, info);
  if (share <= MAX_CLIPPED_SHARE) return info;
  const percent = Math.round(share * 100);
  throw invalidValue(
    field,
    sentence("field.the-recording-is-overdriven-percent-of-it-is-clipped-record-it-again-at-a", { percent }),
  );
}

/** Share of the audible samples that are clipped; 0 where nothing is audible. */
function clippedShare(bytes: Uint8Array, info: WavInfo): number {
  const sampleAt = sampleReader(new DataView(bytes.buffer, bytes.byteOffset + info.offset), info);
  const width = info.bits / 8;
  const full = Math.min(FULL_SCALE, 1 - 2 ** (1 - info.bits));
  const windows = Math.min(MAX_WINDOWS, Math.ceil(info.frames / WINDOW_SAMPLES));
  let [sounding, clipped] = [0, 0];
  for (let n = 0; n < windows; n++) {
    const first = Math.floor((n * Math.max(0, info.frames - WINDOW_SAMPLES)) / Math.max(1, windows - 1));
    const last = Math.min(info.frames, first + WINDOW_SAMPLES);
    for (let channel = 0; channel < info.channels; channel++) {
      let row = 0;
      for (let frame = first; frame < last; frame++) {
        const level = Math.abs(sampleAt((frame * info.channels + channel) * width));
        row = level >= full ? row + 1 : 0;
        if (level >= AUDIBLE_LEVEL) sounding++;
        if (row === MIN_CONSECUTIVE_SAMPLES) clipped += MIN_CONSECUTIVE_SAMPLES;
        else if (row > MIN_CONSECUTIVE_SAMPLES) clipped++;
      }
    }
  }
  return sounding === 0 ? 0 : clipped / sounding;
}
