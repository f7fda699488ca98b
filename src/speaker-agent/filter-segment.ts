import { SAMPLE_RATE_HZ } from "../media/samples.ts";
import { BINS, type BlockSpectrum, binHz, impulsePeak } from "./block-spectra.ts";
import {
  driftOf,
  energyOf,
  HOP,
  IMPLAUSIBLE_DRIFTS,
  IMPLAUSIBLE_LAGS,
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
import { measureLevel } from "./match-level.ts";

/** Blocks that are summed before drifts are tried, 256 ms: drift turns their phases by a quarter of a cycle at most. */
const GROUP_BLOCKS = 4;
const GROUPS = SEGMENT_BLOCKS / GROUP_BLOCKS;
const GROUP_S = (GROUP_BLOCKS * HOP) / SAMPLE_RATE_HZ;
/** Below this energy the played audio counts as silent. */
const SILENCE_ENERGY = 1e4;
/** Bins that would stand out of the noise by 16 dB less than the best ones say nothing. */
const FULL_WEIGHT_SHARE = 4;
const MIN_WEIGHT = 0.15;
/** Limit of one bin's part in the match: few frequencies that the room has by chance must not decide. */
const MIN_LIMIT = 3;
const LIMIT_OF_ALL = 150;
/** Audio in fewer blocks than this can't be told from a bang. */
const MIN_ACTIVE_BLOCKS = 5;
/** Overlapping Hann windows: squared correlation of neighbouring bins, and of those two apart. */
const NEIGHBOUR_CORRELATION = 4 / 9;
const SECOND_NEIGHBOUR_CORRELATION = 1 / 36;

/** A segment of the recording with the played audio around it. */
export interface FilterSegment {
  /** Takes the segment that begins at block `first`; false when nothing in it can be compared. */
  load(played: SpectrumAt, recorded: SpectrumAt, first: number, blocks: number): boolean;
  /** Correlates recording and played audio at a lag; false when too little was played by then. */
  correlate(lag: number): boolean;
  /** Score of the last correlation with the drift removed, with its mean and variance by chance. */
  score(drift: number): Score;
  /** The best score at implausible delays that this match does not explain, in standard deviations. */
  coincidence(match: Match): number;
  /** Delay and level of a match. */
  measure(match: Match): { delayMs: number; levelDb: number };
}

type SpectrumAt = (block: number) => BlockSpectrum | undefined;

/** Creates an empty segment. */
export function createFilterSegment(): FilterSegment {
  let blocks = 0;
  let firstBlock = 0;
  /** Whitened spectra, and those as they were. */
  let recording: Float32Array[] = [];
  let recordedRaw: Float32Array[] = [];
  const audio = new Map<number, Float32Array>();
  const audioRaw = new Map<number, Float32Array>();
  const weights = new Float64Array(BINS);
  const recordedEnergy = new Float64Array(BINS);
  /** Of the last correlation. */
  let correlatedLag: number | null = null;
  let isComparable = false;
  const audioEnergy = new Float64Array(BINS);
  const groupsRe = new Float64Array(BINS * GROUPS);
  const groupsIm = new Float64Array(BINS * GROUPS);
  /** Of the last score: coherent sums, and the share of the recording's energy that they explain. */
  const sumRe = new Float64Array(BINS);
  const sumIm = new Float64Array(BINS);
  const explained = new Float64Array(BINS);
  let limit = MIN_LIMIT;

  const whiten = ({ values, surroundings }: BlockSpectrum, floor: Float64Array | null): Float32Array => {
    const white = new Float32Array(2 * BINS);
    for (let bin = 0; bin < BINS; bin++) {
      const energy = (surroundings[bin] as number) + (floor === null ? 0 : (floor[bin] as number) + SILENCE_ENERGY);
      const gain = 1 / Math.sqrt(energy);
      white[2 * bin] = (values[2 * bin] as number) * gain;
      white[2 * bin + 1] = (values[2 * bin + 1] as number) * gain;
    }
    return white;
  };

  const loadRecording = (recorded: SpectrumAt): Float64Array => {
    const noise = new Float64Array(BINS);
    recording = [];
    recordedRaw = [];
    recordedEnergy.fill(0);
    for (let block = 0; block < blocks; block++) {
      const spectrum = recorded(firstBlock + block);
      if (!spectrum) break;
      const white = whiten(spectrum, null);
      recording.push(white);
      recordedRaw.push(spectrum.values);
      for (let bin = 0; bin < BINS; bin++) {
        noise[bin] = (noise[bin] as number) + Math.log(spectrum.surroundings[bin] as number) / blocks;
        recordedEnergy[bin] = (recordedEnergy[bin] as number) + energyOf(white, bin);
      }
    }
    // The geometric mean: a bang counts little.
    return noise.map(Math.exp);
  };

  const loadAudio = (played: SpectrumAt): Float64Array => {
    const energy = new Float64Array(BINS);
    const surroundings = new Float64Array(BINS);
    const from = firstBlock * LAGS_PER_HOP - LAST_LAG;
    const to = (firstBlock + blocks) * LAGS_PER_HOP;
    for (let block = from; block < to; block++) {
      const spectrum = played(block);
      if (!spectrum) continue;
      for (let bin = 0; bin < BINS; bin++) {
        energy[bin] = (energy[bin] as number) + energyOf(spectrum.values, bin) / (to - from);
        surroundings[bin] = (surroundings[bin] as number) + (spectrum.surroundings[bin] as number) / (to - from);
      }
    }
    audio.clear();
    audioRaw.clear();
    const reach = REACH_BLOCKS * LAGS_PER_HOP;
    for (let block = firstBlock * LAGS_PER_HOP - reach; block < to + reach; block++) {
      const spectrum = played(block);
      if (!spectrum) continue;
      // Loud blocks count no more than others, but soft ones less: what is below the mean is below the noise first.
      audio.set(block, whiten(spectrum, surroundings));
      audioRaw.set(block, spectrum.values);
    }
    return energy;
  };

  const weigh = (energy: Float64Array, noise: Float64Array): boolean => {
    let sum = 0;
    let squares = 0;
    for (let bin = 0; bin < BINS; bin++) {
      const ratio = (energy[bin] as number) / (noise[bin] as number);
      sum += ratio;
      squares += ratio * ratio;
    }
    if (sum === 0) return false;
    let total = 0;
    let totalSquares = 0;
    for (let bin = 0; bin < BINS; bin++) {
      const ratio = ((energy[bin] as number) / (noise[bin] as number)) * (sum / squares);
      const weight = Math.min(1, Math.sqrt(ratio * FULL_WEIGHT_SHARE));
      weights[bin] = weight < MIN_WEIGHT ? 0 : weight;
      total += weights[bin] as number;
      totalSquares += (weights[bin] as number) ** 2;
    }
    limit = Math.max(MIN_LIMIT, (LIMIT_OF_ALL * totalSquares) / total ** 2);
    return true;
  };

  /** Adds `a` conj(`b`) of each bin that counts. */
  const multiply = (a: Float32Array, b: Float32Array, intoRe: Float64Array, intoIm: Float64Array, at: number): void => {
    for (let bin = 0; bin < BINS; bin++) {
      if (weights[bin] === 0) continue;
      const [aRe, aIm] = [a[2 * bin] as number, a[2 * bin + 1] as number];
      const [bRe, bIm] = [b[2 * bin] as number, b[2 * bin + 1] as number];
      intoRe[at + bin] = (intoRe[at + bin] as number) + aRe * bRe + aIm * bIm;
      intoIm[at + bin] = (intoIm[at + bin] as number) + aIm * bRe - aRe * bIm;
    }
  };

  const audioAt = (block: number, lag: number): Float32Array | undefined =>
    audio.get((firstBlock + block) * LAGS_PER_HOP - lag);

  /** Played audio as it was at a lag, by block of the segment and further steps of 64 ms. */
  const playedAt =
    (lag: number) =>
    (block: number, later: number): Float32Array | undefined =>
      audioRaw.get((firstBlock + block - later) * LAGS_PER_HOP - lag);

  const correlate = (lag: number): boolean => {
    if (lag === correlatedLag) return isComparable;
    correlatedLag = lag;
    audioEnergy.fill(0);
    groupsRe.fill(0);
    groupsIm.fill(0);
    let sum = 0;
    let squares = 0;
    for (let block = 0; block < blocks; block++) {
      const part = audioAt(block, lag);
      if (!part) continue;
      multiply(recording[block] as Float32Array, part, groupsRe, groupsIm, Math.floor(block / GROUP_BLOCKS) * BINS);
      let energy = 0;
      for (let bin = 0; bin < BINS; bin++) {
        const own = energyOf(part, bin);
        audioEnergy[bin] = (audioEnergy[bin] as number) + own;
        energy += own * (weights[bin] as number);
      }
      sum += energy;
      squares += energy * energy;
    }
    isComparable = squares > 0 && (sum * sum) / squares >= MIN_ACTIVE_BLOCKS;
    return isComparable;
  };

  const score = (drift: number): Score => {
    const groups = Math.ceil(blocks / GROUP_BLOCKS);
    let total = 0;
    let weight = 0;
    let variance = 0;
    for (let bin = 0; bin < BINS; bin++) {
      const own = weights[bin] as number;
      if (own === 0) continue;
      // Horner's rule with the turn of one group.
      const turn = 2 * Math.PI * binHz(bin) * drift * GROUP_S;
      const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
      let [re, im] = [0, 0];
      for (let group = groups - 1; group >= 0; group--) {
        const turned = re * cos - im * sin + (groupsRe[group * BINS + bin] as number);
        im = re * sin + im * cos + (groupsIm[group * BINS + bin] as number);
        re = turned;
      }
      sumRe[bin] = re;
      sumIm[bin] = im;
      const energy = (audioEnergy[bin] as number) * (recordedEnergy[bin] as number);
      explained[bin] = energy === 0 ? 0 : Math.min(1 - 1e-6, (re * re + im * im) / energy);
      total += own * evidenceOf(explained[bin] as number);
      weight += own;
      variance +=
        own *
        (own +
          2 * NEIGHBOUR_CORRELATION * (weights[bin + 1] ?? 0) +
          2 * SECOND_NEIGHBOUR_CORRELATION * (weights[bin + 2] ?? 0));
    }
    // Mean and variance of an exponential variable cut off at the limit.
    const beyond = Math.exp(-limit);
    return {
      score: total,
      mean: weight * (1 - beyond),
      variance: variance * (1 - 2 * limit * beyond - beyond * beyond),
    };
  };

  /** Without the audio, exponentially distributed with mean 1. */
  const evidenceOf = (share: number): number => Math.min(limit, -(blocks - 1) * Math.log(1 - share));

  /** Score at a lag that the match of the last score would have of itself, since the audio resembles itself there. */
  const resemblance = (lag: number, own: number, share: Float64Array): number => {
    const re = new Float64Array(BINS);
    const im = new Float64Array(BINS);
    const energy = new Float64Array(BINS);
    const ownEnergy = new Float64Array(BINS);
    for (let block = 0; block < blocks; block++) {
      const [there, here] = [audioAt(block, lag), audioAt(block, own)];
      if (here) for (let bin = 0; bin < BINS; bin++) ownEnergy[bin] = (ownEnergy[bin] as number) + energyOf(here, bin);
      if (there) for (let bin = 0; bin < BINS; bin++) energy[bin] = (energy[bin] as number) + energyOf(there, bin);
      if (there && here) multiply(here, there, re, im, 0);
    }
    let total = 0;
    for (let bin = 0; bin < BINS; bin++) {
      const both = (energy[bin] as number) * (ownEnergy[bin] as number);
      if (both === 0 || weights[bin] === 0) continue;
      const same = Math.min(1, ((re[bin] as number) ** 2 + (im[bin] as number) ** 2) / both);
      total += (weights[bin] as number) * evidenceOf(same * (share[bin] as number));
    }
    return total;
  };

  return {
    load(played, recorded, first, count) {
      firstBlock = first;
      blocks = count;
      correlatedLag = null;
      const noise = loadRecording(recorded);
      return weigh(loadAudio(played), noise);
    },
    correlate,
    score,
    coincidence(match) {
      const own = match.lag + lagGrowth(firstBlock, match.drift);
      correlate(own);
      score(match.drift);
      const share = explained.slice();
      let highest = 0;
      for (const lag of IMPLAUSIBLE_LAGS) {
        if (!correlate(lag)) continue;
        const found = IMPLAUSIBLE_DRIFTS.map((drift) => score(driftOf(drift))).reduce((best, each) =>
          each.score > best.score ? each : best,
        );
        const { score: total, mean, variance } = found;
        highest = Math.max(highest, (total - mean - 1.5 * resemblance(lag, own, share)) / Math.sqrt(variance));
      }
      return highest;
    },
    measure(match) {
      const own = match.lag + lagGrowth(firstBlock, match.drift);
      correlate(own);
      score(match.drift);
      const response = new Float64Array(2 * BINS);
      for (let bin = 0; bin < BINS; bin++) {
        const size = Math.hypot(sumRe[bin] as number, sumIm[bin] as number);
        if (size === 0 || weights[bin] === 0) continue;
        const gain = ((weights[bin] as number) * Math.sqrt(explained[bin] as number)) / size;
        response[2 * bin] = (sumRe[bin] as number) * gain;
        response[2 * bin + 1] = (sumIm[bin] as number) * gain;
      }
      // The delay at the start of the audio.
      const delayS = (own * LAG_SAMPLES + impulsePeak(response)) / SAMPLE_RATE_HZ - match.drift * startOf(firstBlock);
      return {
        delayMs: Math.round(delayS * 10_000) / 10,
        levelDb: measureLevel({ recorded: recordedRaw, playedAt: playedAt(own), drift: match.drift }),
      };
    },
  };
}
