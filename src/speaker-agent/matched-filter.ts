import { createBlockSpectra } from "./block-spectra.ts";
import {
  DRIFTS,
  driftOf,
  FIRST_LAG,
  HOP,
  LAG_SAMPLES,
  LAGS_PER_HOP,
  LAST_LAG,
  lagGrowth,
  type Match,
  REACH_BLOCKS,
  type Score,
  SEGMENT_BLOCKS,
  startOf,
} from "./filter-grid.ts";
import { createFilterSegment } from "./filter-segment.ts";
import { lnGammaTail } from "./gamma-tail.ts";

/** How well a recording matches what was played. */
export interface Detection {
  /** Chance that a recording without the played audio matches as well as this one. */
  pValue: number;
  /** From the hand-over to the player until the audio reaches the microphone. */
  delayMs: number;
  /** Played audio as recorded, to everything else in the recording, dB. */
  levelDb: number;
}

/**
 * Searches the recording of a room for the audio that is played. Both are 8 kHz and begin together.
 * @source docs/decisions/0420-matched-filter.md
 */
export interface MatchedFilter {
  addPlayed(pcm: Int16Array): void;
  addRecorded(pcm: Int16Array): void;
  /** Evaluates the rest of the recording. */
  finish(): void;
  /** The best match so far; null before the first one that could be evaluated. */
  readonly detection: Detection | null;
}

/** A match at least as good counts as heard. */
export const MAX_P_VALUE = 1e-6;

/** The rest at the end is evaluated from half a second. */
const MIN_BLOCKS = 8;
/** Matches at implausible delays up to this many standard deviations are chance. */
const CHANCE_DEVIATIONS = 5;
const NOTABLE_P_VALUE = 0.01;
/** Of loud audio many matches are as good as possible: the sharpest one within a quarter of a second is measured. */
const NEAR_LAGS = 8;
const LAGS = LAST_LAG - FIRST_LAG + 1;

/** Creates a filter without audio. */
export function createMatchedFilter(): MatchedFilter {
  const played = createBlockSpectra(LAG_SAMPLES);
  const recorded = createBlockSpectra(HOP);
  const segment = createFilterSegment();
  /** Scores of the whole segments so far, by lag and drift, with mean and variance of recordings without the audio. */
  const scores = new Float64Array(LAGS * DRIFTS);
  const means = new Float64Array(LAGS * DRIFTS);
  const variances = new Float64Array(LAGS * DRIFTS);
  const sharpnesses = new Float64Array(LAGS * DRIFTS);
  let first = 0;
  let looks = 0;
  let highestHz = 0;
  let lnLeftOut = Number.NEGATIVE_INFINITY;
  let coincidence = 0;
  let detection: Detection | null = null;

  const evaluate = (blocks: number): void => {
    if (segment.load(played.at, recorded.at, first, blocks)) look();
    first += blocks;
    played.dropBefore((first - REACH_BLOCKS) * LAGS_PER_HOP);
    recorded.dropBefore(first);
  };

  const look = (): void => {
    looks++;
    const matches: Match[] = [];
    let best: Match | null = null;
    let lags = 0;
    // The delay of a long message may grow beyond a step.
    const growth = Math.abs(lagGrowth(first, driftOf(0)));
    for (let lagHere = FIRST_LAG - growth; lagHere <= LAST_LAG + growth; lagHere++) {
      if (!segment.correlate(lagHere)) continue;
      lags++;
      for (let drift = 0; drift < DRIFTS; drift++) {
        const lag = lagHere - lagGrowth(first, driftOf(drift));
        if (lag < FIRST_LAG || lag > LAST_LAG) continue;
        const at = (lag - FIRST_LAG) * DRIFTS + drift;
        const { score, mean, variance, sharpness } = segment.score(driftOf(drift));
        const match = {
          ...{ lag, drift: driftOf(drift) },
          score: (scores[at] as number) + score,
          mean: (means[at] as number) + mean,
          variance: (variances[at] as number) + variance,
          sharpness: (sharpnesses[at] as number) + sharpness,
        };
        if (!best || deviationsOf(match) > deviationsOf(best)) best = match;
        scores[at] = match.score;
        means[at] = match.mean;
        variances[at] = match.variance;
        sharpnesses[at] = match.sharpness;
        matches.push(match);
      }
    }
    if (!best) return;
    // Corrected for all delays and distinct drifts, and for each look by a share of 1 / (n (n + 1)), which are 1 in all.
    highestHz = Math.max(highestHz, segment.highestHz);
    const turns = highestHz * (driftOf(DRIFTS - 1) - driftOf(0)) * startOf(recorded.count);
    const lnTried = Math.log(lags * Math.min(DRIFTS, 1 + turns) * looks * (looks + 1));
    lnLeftOut = Math.max(lnLeftOut, segment.lnLeftOut);
    // The costly comparison is only made where it may matter.
    if (lnPOf(best, 1) + lnTried + lnLeftOut < Math.log(NOTABLE_P_VALUE))
      coincidence = Math.max(coincidence, segment.coincidence(best));
    const lnP = lnPOf(best, Math.max(1, coincidence / CHANCE_DEVIATIONS)) + lnTried + lnLeftOut;
    const pValue = Math.min(1, Math.exp(lnP));
    if (detection && pValue > detection.pValue) return;
    const { lag } = best;
    const near = matches.filter((each) => Math.abs(each.lag - lag) <= NEAR_LAGS);
    detection = { pValue, ...segment.measure(near.reduce((a, b) => (b.sharpness > a.sharpness ? b : a))) };
  };

  const evaluateNew = (): void => {
    for (;;) {
      const next = first + SEGMENT_BLOCKS;
      if (recorded.count < next || played.count < next * LAGS_PER_HOP) return;
      evaluate(SEGMENT_BLOCKS);
    }
  };
  return {
    addPlayed(pcm) {
      played.add(pcm);
      evaluateNew();
    },
    addRecorded(pcm) {
      recorded.add(pcm);
      evaluateNew();
    },
    finish() {
      // Silence after the end lets the last recorded blocks be compared.
      while (played.count < recorded.count * LAGS_PER_HOP) played.add(new Int16Array(LAG_SAMPLES));
      evaluateNew();
      const rest = recorded.count - first;
      if (rest >= MIN_BLOCKS) evaluate(rest);
    },
    get detection() {
      return detection;
    },
  };
}

/** Natural logarithm of the chance of this score, its excess divided by a spread. */
function lnPOf({ score, mean, variance }: Score, spread: number): number {
  return lnGammaTail(mean + (score - mean) / spread, mean, variance);
}

function deviationsOf({ score, mean, variance }: Score): number {
  return (score - mean) / Math.sqrt(variance);
}
