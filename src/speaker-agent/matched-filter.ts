import { SAMPLE_RATE_HZ } from "../media/samples.ts";
import { BINS, BLOCK_SAMPLES, type BlockSpectrum, binHz, createBlockSpectra, impulsePeak } from "./block-spectra.ts";
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

/** Blocks of the recording overlap by half, those of the played audio by three quarters: delays in steps of 32 ms. */
const HOP = BLOCK_SAMPLES / 2;
const LAG_SAMPLES = BLOCK_SAMPLES / 4;
const LAGS_PER_HOP = HOP / LAG_SAMPLES;
/** A segment of 4.1 s is correlated as a whole; the rest at the end has at least half a second. */
const SEGMENT_BLOCKS = 64;
const MIN_BLOCKS = 8;
/** Blocks that are summed before drifts are tried, 256 ms: drift turns their phases by a quarter of a cycle at most. */
const GROUP_BLOCKS = 4;
const GROUPS = SEGMENT_BLOCKS / GROUP_BLOCKS;
const GROUP_S = (GROUP_BLOCKS * HOP) / SAMPLE_RATE_HZ;
/** Delays of players, amplifiers and the air, -64 ms to 1.73 s. */
const FIRST_LAG = -2;
const LAST_LAG = 54;
const LAGS = LAST_LAG - FIRST_LAG + 1;
/** Clock drifts of sound cards, as growth of the delay: 320 ppm to both sides, 40 ppm apart. */
const DRIFT_STEP = 40e-6;
const DRIFTS = 17;
/** Delays that no player has, to both sides of the possible ones, and the drifts tried there. */
const IMPLAUSIBLE_LAGS = Array.from({ length: 16 }, (_, n) => LAST_LAG + 16 + 6 * n).flatMap((lag) => [lag, -lag]);
const IMPLAUSIBLE_DRIFTS = [2, 6, 10, 14];
const REACH_BLOCKS = Math.ceil(Math.max(...IMPLAUSIBLE_LAGS) / LAGS_PER_HOP) + 1;
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
/** Matches at implausible delays up to this many standard deviations are chance. */
const CHANCE_DEVIATIONS = 5;
/** Standard deviation of what other music shares by chance: a quarter of the frequencies, between one note and a few. */
const SHARED_NOTES = 0.25;
const MIN_SHARED = 3;
const MAX_SHARED = 12.5;
/** Overlapping Hann windows: squared correlation of neighbouring bins, and of those two apart. */
const NEIGHBOUR_CORRELATION = 4 / 9;
const SECOND_NEIGHBOUR_CORRELATION = 1 / 36;

/** A delay and drift with its match; `lag` in steps of 32 ms at the start of the audio. */
interface Match {
  lag: number;
  drift: number;
  score: number;
  mean: number;
  variance: number;
}

/** Creates a filter without audio. */
export function createMatchedFilter(): MatchedFilter {
  const played = createBlockSpectra(LAG_SAMPLES);
  const recorded = createBlockSpectra(HOP);
  const segment = createSegment();
  /** Scores of the whole segments so far, by lag and drift, with mean and variance of recordings without the audio. */
  const scores = new Float64Array(LAGS * DRIFTS);
  const means = new Float64Array(LAGS * DRIFTS);
  const variances = new Float64Array(LAGS * DRIFTS);
  let first = 0;
  let looks = 0;
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
    let best: Match | null = null;
    let tried = 0;
    for (let lag = FIRST_LAG; lag <= LAST_LAG; lag++) {
      for (let drift = 0; drift < DRIFTS; drift++) {
        // The delay of a long message may grow beyond a step.
        if (!segment.correlate(lag + Math.round((segment.startS() * driftOf(drift) * SAMPLE_RATE_HZ) / LAG_SAMPLES)))
          continue;
        const at = (lag - FIRST_LAG) * DRIFTS + drift;
        const { score, mean, variance } = segment.score(driftOf(drift));
        const match = {
          ...{ lag, drift: driftOf(drift) },
          score: (scores[at] as number) + score,
          mean: (means[at] as number) + mean,
          variance: (variances[at] as number) + variance,
        };
        tried++;
        if (!best || deviationsOf(match) > deviationsOf(best)) best = match;
        scores[at] = match.score;
        means[at] = match.mean;
        variances[at] = match.variance;
      }
    }
    if (!best) return;
    coincidence = Math.max(coincidence, segment.coincidence(best));
    // Corrected for all delays and drifts, and for each look by a share of 1 / (n (n + 1)), which are 1 in all.
    const shared = Math.min(MAX_SHARED, Math.max(MIN_SHARED, SHARED_NOTES * best.mean)) ** 2;
    const spread = Math.sqrt(1 + shared / best.variance) * Math.max(1, coincidence / CHANCE_DEVIATIONS);
    const lnP = lnGammaTail(best.mean + (best.score - best.mean) / spread, best.mean, best.variance);
    const pValue = Math.min(1, Math.exp(lnP + Math.log(tried * looks * (looks + 1))));
    if (detection && pValue > detection.pValue) return;
    detection = { pValue, ...segment.measure(best) };
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

function driftOf(index: number): number {
  return (index - (DRIFTS - 1) / 2) * DRIFT_STEP;
}

function deviationsOf({ score, mean, variance }: Omit<Match, "lag" | "drift">): number {
  return (score - mean) / Math.sqrt(variance);
}

/** A segment of the recording with the played audio around it. */
interface Segment {
  /** Takes the segment that begins at block `first`; false when nothing in it can be compared. */
  load(played: SpectrumAt, recorded: SpectrumAt, first: number, blocks: number): boolean;
  /** Start since the start of the audio. */
  startS(): number;
  /** Correlates recording and played audio at a lag; false when too little was played by then. */
  correlate(lag: number): boolean;
  /** Score of the last correlation with the drift removed, with its mean and variance by chance. */
  score(drift: number): Omit<Match, "lag" | "drift">;
  /** The best score at implausible delays that this match does not explain, in standard deviations. */
  coincidence(match: Match): number;
  /** Delay and level of a match. */
  measure(match: Match): Omit<Detection, "pValue">;
}

type SpectrumAt = (block: number) => BlockSpectrum | undefined;

function createSegment(): Segment {
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

  const score = (drift: number): Omit<Match, "lag" | "drift"> => {
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

  const startS = (): number => (firstBlock * HOP) / SAMPLE_RATE_HZ;
  const lagHere = ({ lag, drift }: Match): number =>
    lag + Math.round((startS() * drift * SAMPLE_RATE_HZ) / LAG_SAMPLES);

  return {
    load(played, recorded, first, count) {
      firstBlock = first;
      blocks = count;
      correlatedLag = null;
      const noise = loadRecording(recorded);
      return weigh(loadAudio(played), noise);
    },
    startS,
    correlate,
    score,
    coincidence(match) {
      const own = lagHere(match);
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
      const own = lagHere(match);
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
      const delayS = (own * LAG_SAMPLES + impulsePeak(response)) / SAMPLE_RATE_HZ - match.drift * startS();
      return { delayMs: Math.round(delayS * 10_000) / 10, levelDb: levelOf(own, match.drift) };
    },
  };

  /** Level of what a few filter taps around the lag explain of the recording, over the rest. */
  function levelOf(lag: number, drift: number): number {
    let signal = 0;
    let noise = 0;
    const sounding = activeBlocks(lag);
    const taps = LEVEL_TAPS.map((tap) => lag + tap * LAGS_PER_HOP);
    const residual = new Float64Array(2 * sounding.length);
    for (let bin = 0; bin < BINS; bin++) {
      let total = 0;
      sounding.forEach((block, n) => {
        const raw = recordedRaw[block] as Float32Array;
        const turn = 2 * Math.PI * binHz(bin) * drift * (block / GROUP_BLOCKS) * GROUP_S;
        const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
        residual[2 * n] = (raw[2 * bin] as number) * cos - (raw[2 * bin + 1] as number) * sin;
        residual[2 * n + 1] = (raw[2 * bin] as number) * sin + (raw[2 * bin + 1] as number) * cos;
        total += energyOf(raw, bin);
      });
      // Two passes of Gauss-Seidel.
      for (const tap of [...taps, ...taps]) subtractTap(residual, sounding, tap, bin);
      let rest = 0;
      for (const part of residual) rest += part * part;
      // What as many taps explain of noise by chance.
      rest = Math.min(total, (rest * sounding.length) / Math.max(1, sounding.length - taps.length));
      signal += total - rest;
      noise += rest;
    }
    const db = 10 * Math.log10(Math.max(signal, 1e-9) / Math.max(noise, 1e-9));
    return Math.round(Math.max(-MAX_LEVEL_DB, Math.min(MAX_LEVEL_DB, db)) * 10) / 10;
  }

  function subtractTap(residual: Float64Array, sounding: readonly number[], tap: number, bin: number): void {
    let [re, im, energy] = [0, 0, 0];
    sounding.forEach((block, n) => {
      const part = audioRaw.get((firstBlock + block) * LAGS_PER_HOP - tap);
      if (!part) return;
      const [a, b] = [part[2 * bin] as number, part[2 * bin + 1] as number];
      const [c, d] = [residual[2 * n] as number, residual[2 * n + 1] as number];
      re += c * a + d * b;
      im += d * a - c * b;
      energy += a * a + b * b;
    });
    if (energy === 0) return;
    sounding.forEach((block, n) => {
      const part = audioRaw.get((firstBlock + block) * LAGS_PER_HOP - tap);
      if (!part) return;
      const [a, b] = [part[2 * bin] as number, part[2 * bin + 1] as number];
      residual[2 * n] = (residual[2 * n] as number) - (re * a - im * b) / energy;
      residual[2 * n + 1] = (residual[2 * n + 1] as number) - (re * b + im * a) / energy;
    });
  }

  /** Blocks of the recording in which the audio sounds: not 20 dB below its loudest block. */
  function activeBlocks(lag: number): number[] {
    const energies = Array.from({ length: blocks }, (_, block) => {
      const part = audioRaw.get((firstBlock + block) * LAGS_PER_HOP - lag);
      return part ? part.reduce((sum, value) => sum + value * value, 0) : 0;
    });
    const loudest = Math.max(...energies);
    return energies.flatMap((energy, block) => (energy > loudest / 100 ? [block] : []));
  }
}

/** Taps of the level, in steps of 64 ms around the delay. */
const LEVEL_TAPS = [0, 1, 2, 3, 4, -1];
const MAX_LEVEL_DB = 60;

function energyOf(values: Float32Array, bin: number): number {
  return (values[2 * bin] as number) ** 2 + (values[2 * bin + 1] as number) ** 2;
}
