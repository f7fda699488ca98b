import { SAMPLE_RATE_HZ, sampleCount } from "./samples.ts";

/**
 * Level of tones and recordings before the volume is applied: RMS of the audible parts, dB below full scale. @source
 * docs/decisions/0700-audio-processing.md, Levels
 */
export const REFERENCE_DBFS = -16;

/** Peak ceiling of rendered audio. @source docs/decisions/0700-audio-processing.md, Levels */
export const PEAK_CEILING_DBFS = -1;

const FRAME_MS = 20;
const SILENCE_DBFS = -60;
const RELATIVE_GATE_DB = -10;
const MAX_AMPLIFICATION_DB = 30;
const MAX_LIMITING_DB = 6;
/** Half the limiter's window; the gain changes smoothly around a peak. */
const LIMITER_REACH_MS = 10;

/** Amplitude ratio for a number of decibels. */
export function amplitudeFromDb(db: number): number {
  return 10 ** (db / 20);
}

/**
 * RMS of the audible parts, full scale = 1; 0 when nothing is audible. Counts frames of 20 ms above -60 dBFS that are
 * not more than 10 dB below the mean of those. @source ITU-R BS.1770-4 annex 1 (two-step gating; other frame length, no
 * K-weighting)
 */
export function activeRms(samples: Float32Array, rateHz = SAMPLE_RATE_HZ): number {
  const powers: number[] = [];
  const frame = sampleCount(FRAME_MS, rateHz);
  for (let start = 0; start < samples.length; start += frame)
    powers.push(meanSquare(samples.subarray(start, start + frame)));
  const audible = powers.filter((power) => power > amplitudeFromDb(SILENCE_DBFS) ** 2);
  const gate = mean(audible) * amplitudeFromDb(RELATIVE_GATE_DB) ** 2;
  return Math.sqrt(mean(audible.filter((power) => power >= gate)));
}

/**
 * Brings a recording (full scale = 1) to the reference level, in place. The gain is at most 30 dB; the limiter may
 * reduce peaks by at most 6 dB, beyond which the whole stays softer; silence stays as it is.
 */
export function normalizeLoudness(samples: Float32Array, rateHz = SAMPLE_RATE_HZ): void {
  const rms = activeRms(samples, rateHz);
  const peak = peakOf(samples);
  if (rms === 0 || peak === 0) return;
  const gain = Math.min(
    amplitudeFromDb(REFERENCE_DBFS) / rms,
    amplitudeFromDb(PEAK_CEILING_DBFS + MAX_LIMITING_DB) / peak,
    amplitudeFromDb(MAX_AMPLIFICATION_DB),
  );
  for (let i = 0; i < samples.length; i++) samples[i] = (samples[i] as number) * gain;
}

/** Limits peaks in place: reduces the gain within 10 ms of every sample above the ceiling. */
export function limitPeaks(samples: Float32Array, rateHz = SAMPLE_RATE_HZ): void {
  const ceiling = amplitudeFromDb(PEAK_CEILING_DBFS);
  const reach = sampleCount(LIMITER_REACH_MS, rateHz);
  if (peakOf(samples) <= ceiling) return;
  const gains = samples.map((sample) => Math.min(1, ceiling / Math.abs(sample)));
  const smooth = slidingMean(slidingMinimum(gains, reach), reach);
  for (let i = 0; i < samples.length; i++) {
    const limited = (samples[i] as number) * (smooth[i] as number);
    samples[i] = Math.max(-ceiling, Math.min(ceiling, limited));
  }
}

/** Minimum within `reach` of each index; a monotonic queue keeps it linear. */
function slidingMinimum(values: Float32Array, reach: number): Float32Array {
  const result = new Float32Array(values.length);
  const queue = new Int32Array(values.length);
  let head = 0;
  let tail = 0;
  for (let end = 0; end < values.length + reach; end++) {
    if (end < values.length) {
      while (tail > head && (values[queue[tail - 1] as number] as number) >= (values[end] as number)) tail--;
      queue[tail++] = end;
    }
    const centre = end - reach;
    if (centre < 0) continue;
    while ((queue[head] as number) < centre - reach) head++;
    result[centre] = values[queue[head] as number] as number;
  }
  return result;
}

/** Mean within `reach` of each index; beyond the ends the gain counts as 1. */
function slidingMean(values: Float32Array, reach: number): Float32Array {
  const at = (index: number): number => values[index] ?? 1;
  const result = new Float32Array(values.length);
  let sum = 0;
  for (let i = -reach; i < reach; i++) sum += at(i);
  for (let i = 0; i < values.length; i++) {
    sum += at(i + reach);
    result[i] = sum / (2 * reach + 1);
    sum -= at(i - reach);
  }
  return result;
}

function peakOf(samples: Float32Array): number {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak;
}

function meanSquare(samples: Float32Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return sum / samples.length;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
