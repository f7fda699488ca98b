import { SAMPLE_RATE_HZ } from "../media/samples.ts";
import { BLOCK_SAMPLES } from "./block-spectra.ts";

/** Blocks of the recording overlap by half, those of the played audio by three quarters: delays in steps of 32 ms. */
export const HOP = BLOCK_SAMPLES / 2;
export const LAG_SAMPLES = BLOCK_SAMPLES / 4;
export const LAGS_PER_HOP = HOP / LAG_SAMPLES;
/** A segment of 4.1 s is correlated as a whole. */
export const SEGMENT_BLOCKS = 64;
/** Delays of players, amplifiers and the air, -64 ms to 1.73 s. */
export const FIRST_LAG = -2;
export const LAST_LAG = 54;
/** Clock drifts of sound cards, as growth of the delay: 320 ppm to both sides, 40 ppm apart. */
const DRIFT_STEP = 40e-6;
export const DRIFTS = 17;
/** Delays that no player has, to both sides of the possible ones, and the drifts tried there. */
export const IMPLAUSIBLE_LAGS = Array.from({ length: 16 }, (_, n) => LAST_LAG + 16 + 6 * n).flatMap((lag) => [
  lag,
  -lag,
]);
export const IMPLAUSIBLE_DRIFTS = [2, 6, 10, 14];
export const REACH_BLOCKS = Math.ceil(Math.max(...IMPLAUSIBLE_LAGS) / LAGS_PER_HOP) + 1;

/** Score of a match, with mean and variance of recordings without the audio. */
export interface Score {
  score: number;
  mean: number;
  variance: number;
  /** Weighted sum of the evidence without limits, which tells matches near each other apart. */
  sharpness: number;
}

/** A delay and drift with its score; `lag` in steps of 32 ms at the start of the audio. */
export interface Match extends Score {
  lag: number;
  drift: number;
}

export function driftOf(index: number): number {
  return (index - (DRIFTS - 1) / 2) * DRIFT_STEP;
}

/** Index of a drift of the grid. */
export function indexOfDrift(drift: number): number {
  return Math.round(drift / DRIFT_STEP) + (DRIFTS - 1) / 2;
}

/** Steps by which the delay has grown at a block. */
export function lagGrowth(block: number, drift: number): number {
  return Math.round((block * HOP * drift) / LAG_SAMPLES);
}

/** Start of a block in seconds. */
export function startOf(block: number): number {
  return (block * HOP) / SAMPLE_RATE_HZ;
}

export function energyOf(values: Float32Array, bin: number): number {
  return (values[2 * bin] as number) ** 2 + (values[2 * bin + 1] as number) ** 2;
}
