/** What can be seen of a recording. */
export interface Waveform {
  seconds: number;
  /** Loudest sample of each piece, 0 to 1, in order. */
  peaks: readonly number[];
  /** Its loudest sample. */
  peak: number;
  /** It is too loud for its format: what is cut off crackles. */
  clipped: boolean;
}

/** Samples this near to full scale were most likely clipped. */
export const CLIPPED_FROM = 0.985;
/** Fewer such samples may be chance. */
const CLIPPED_SAMPLES = 3;
/** Inaudible below this level (-50 dB of full scale). */
export const SILENT_BELOW = 0.003;

/** The picture of `samples` (full scale 1) in at most `pieces` pieces. */
export function waveformOf(samples: Float32Array, rateHz: number, pieces: number): Waveform {
  const size = Math.max(1, Math.ceil(samples.length / pieces));
  const peaks: number[] = [];
  let loud = 0;
  for (let at = 0; at < samples.length; at += size) {
    let peak = 0;
    for (let i = at; i < Math.min(at + size, samples.length); i++) {
      const sample = Math.abs(samples[i] ?? 0);
      if (sample > peak) peak = sample;
      if (sample >= CLIPPED_FROM) loud++;
    }
    peaks.push(Math.min(1, peak));
  }
  const peak = peaks.reduce((most, each) => Math.max(most, each), 0);
  return { seconds: samples.length / rateHz, peaks, peak, clipped: loud >= CLIPPED_SAMPLES };
}

/** Bars of a waveform as an SVG path in a box of `peaks.length` by 2, its middle at 1. */
export function waveformPath(peaks: readonly number[]): string {
  return peaks.map((peak, x) => `M${x + 0.5} ${round(1 - lift(peak))}V${round(1 + lift(peak))}`).join("");
}

/** What is soft is heard all the same: the ear is not linear. */
function lift(peak: number): number {
  return Math.max(0.02, Math.sqrt(peak));
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** A peak as a level between 0 (-60 dB and below) and 1 (full scale), even in decibels. */
export function meterLevel(peak: number): number {
  return Math.max(0, Math.min(1, 1 + (20 * Math.log10(Math.max(peak, 1e-6))) / 60));
}
