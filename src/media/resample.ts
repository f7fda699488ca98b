import { SAMPLE_RATE_HZ } from "./samples.ts";

/** Audio that is read piece by piece, so that a long recording is never held in memory at its original rate. */
export interface SampleSource {
  rateHz: number;
  frames: number;
  /** Fills `into` with mono samples (full scale 1) from frame `first` on; frames outside 0..frames-1 read as 0. */
  read(first: number, into: Float32Array): void;
}

/** Sample rates accepted for recordings, Hz. */
export const RECORDING_RATE_RANGE_HZ = { least: 8_000, most: 96_000 } as const;
/** Sample rates accepted for live voice, Hz: those of microphones; their filters take some ms to design. */
export const LIVE_VOICE_RATES_HZ: readonly number[] = [8_000, 16_000, 24_000, 32_000, 44_100, 48_000, 96_000];

/** Pass band and stop band for 8 kHz; scaled for other rates. */
const PASS_HZ = 3400;
const STOP_HZ = 4000;
const STOP_DB = 80;
/** Beyond this many distinct phases the nearest one is used, an error below -70 dB. */
const MAX_PHASES = 1024;
const BLOCK_SAMPLES = 8000;

/** A low-pass filter, one set of taps per phase between two input samples. */
interface PolyphaseFilter {
  /** Taps on each side of the middle one. */
  half: number;
  phases: Float32Array[];
}

/**
 * Resamples to `toHz`: a Kaiser-windowed sinc passes up to 3.4 kHz and attenuates from 4 kHz by 80 dB, scaled where the
 * lower of the two rates is not 8 kHz. A source with this rate is only copied. Needs `rateHz` >= 8000.
 */
export function resample(source: SampleSource, toHz = SAMPLE_RATE_HZ): Float32Array {
  const result = new Float32Array(Math.round((source.frames * toHz) / source.rateHz));
  if (source.rateHz === toHz) {
    source.read(0, result);
    return result;
  }
  const common = greatestCommonDivisor(source.rateHz, toHz);
  const up = toHz / common;
  const down = source.rateHz / common;
  const filter = designFilter(source.rateHz, Math.min(source.rateHz, toHz), Math.min(up, MAX_PHASES));
  const scratch = new Float32Array(Math.ceil((BLOCK_SAMPLES * down) / up) + 2 * filter.half + 2);
  for (let at = 0; at < result.length; at += BLOCK_SAMPLES) {
    const first = Math.floor((at * down) / up) - filter.half;
    source.read(first, scratch);
    filterBlock(filter, scratch, first, result.subarray(at, at + BLOCK_SAMPLES), { at, up, down });
  }
  return result;
}

/** Resamples a live voice to `toHz` piece by piece; samples that need later input come with the next piece. */
export function createStreamingResampler(rateHz: number, toHz = SAMPLE_RATE_HZ): (piece: Float32Array) => Float32Array {
  if (rateHz === toHz) return (piece) => piece;
  const common = greatestCommonDivisor(rateHz, toHz);
  const [up, down] = [toHz / common, rateHz / common];
  const filter = designFilter(rateHz, Math.min(rateHz, toHz), Math.min(up, MAX_PHASES));
  let kept = new Float32Array(filter.half);
  /** Input index of the first sample kept. */
  let first = -filter.half;
  /** Index of the next output sample. */
  let at = 0;
  return (piece) => {
    const input = new Float32Array(kept.length + piece.length);
    input.set(kept);
    input.set(piece, kept.length);
    const available = first + input.length - filter.half - 1;
    const output = new Float32Array(Math.max(0, Math.ceil((available * up) / down) - at));
    filterBlock(filter, input, first, output, { at, up, down });
    at += output.length;
    const next = Math.floor((at * down) / up) - filter.half;
    kept = input.slice(next - first);
    first = next;
    return output;
  };
}

/** Output sample n is at input position n x down / up. */
function filterBlock(
  filter: PolyphaseFilter,
  input: Float32Array,
  first: number,
  output: Float32Array,
  ratio: { at: number; up: number; down: number },
): void {
  const count = filter.phases.length;
  for (let i = 0; i < output.length; i++) {
    const position = (ratio.at + i) * ratio.down;
    const whole = Math.floor(position / ratio.up);
    const place = Math.round(((position - whole * ratio.up) * count) / ratio.up);
    const taps = filter.phases[place % count] as Float32Array;
    const start = whole + (place === count ? 1 : 0) - filter.half - first;
    let sum = 0;
    for (let k = 0; k < taps.length; k++) sum += (taps[k] as number) * (input[start + k] as number);
    output[i] = sum;
  }
}

/** @source J. F. Kaiser 1974: tap count and beta for a stop-band attenuation and a transition width */
function designFilter(rateHz: number, lowerHz: number, count: number): PolyphaseFilter {
  const stretch = lowerHz / SAMPLE_RATE_HZ;
  const transition = (2 * Math.PI * (STOP_HZ - PASS_HZ) * stretch) / rateHz;
  const half = Math.ceil((STOP_DB - 8) / (2.285 * transition) / 2);
  const beta = 0.1102 * (STOP_DB - 8.7);
  const atMiddle = bessel0(beta);
  const cutoff = ((PASS_HZ + STOP_HZ) * stretch) / rateHz;
  const phases = Array.from({ length: count }, (_, phase) => {
    const taps = Float64Array.from({ length: 2 * half + 1 }, (_, k) => {
      const t = k - half - phase / count;
      return sinc(cutoff * t) * kaiser(t / (half + 1), beta, atMiddle);
    });
    const sum = taps.reduce((total, tap) => total + tap, 0);
    return Float32Array.from(taps, (tap) => tap / sum);
  });
  return { half, phases };
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** Kaiser window over -1..1. */
function kaiser(x: number, beta: number, atMiddle: number): number {
  return bessel0(beta * Math.sqrt(Math.max(0, 1 - x * x))) / atMiddle;
}

/** Modified Bessel function of order 0 by its power series. */
function bessel0(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
