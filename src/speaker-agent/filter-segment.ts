import { SAMPLE_RATE_HZ } from "../media/samples.ts";
import { type BinWeights, weighBins } from "./bin-weights.ts";
import { BINS, type BlockSpectrum, binHz, impulsePeak } from "./block-spectra.ts";
import {
  DRIFTS,
  driftOf,
  energyOf,
  HOP,
  IMPLAUSIBLE_DRIFTS,
  IMPLAUSIBLE_LAGS,
  indexOfDrift,
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
/** Cosine and sine, in turn, of the phase by which each drift turns each bin in the time of a group. */
const TURNS = Array.from({ length: DRIFTS }, (_, drift) =>
  Float64Array.from({ length: 2 * BINS }, (_, n) => {
    const turn = 2 * Math.PI * binHz(n >> 1) * driftOf(drift) * GROUP_S;
    return n % 2 === 0 ? Math.cos(turn) : Math.sin(turn);
  }),
);
/** Below this energy the played audio counts as silent. */
const SILENCE_ENERGY = 1e4;
/** A bin of the audio sounds in blocks that are not 13 dB below its loudest one. */
const SOUNDING_SHARE = 0.05;
/** The room may ring so long after a bin sounded, 1 s. */
const RINGING_LAGS = 32;
/** Audio in fewer blocks than this can't be told from a bang. */
const MIN_ACTIVE_BLOCKS = 5;
const ALL_COMPARED = new Uint8Array(BINS).fill(1);
/** Keeps the logarithm of the rest finite. */
const MAX_EXPLAINED = 1 - 1e-6;

/** A segment of the recording with the played audio around it. */
export interface FilterSegment {
  /** Takes the segment that begins at block `first`; false when nothing in it can be compared. */
  load(played: SpectrumAt, recorded: SpectrumAt, first: number, blocks: number): boolean;
  /** Correlates recording and played audio at a lag; false when too little was played by then. */
  correlate(lag: number): boolean;
  /** Score of the last correlation with the drift removed. */
  score(drift: number): Score;
  /** Natural logarithm of the chance that other music shares the notes that don't count. */
  readonly lnLeftOut: number;
  /** Highest frequency that counts. */
  readonly highestHz: number;
  /** The best score at implausible delays that this match does not explain, in standard deviations. */
  coincidence(match: Match): number;
  /** Delay and level of a match. */
  measure(match: Match): { delayMs: number; levelDb: number };
}

type SpectrumAt = (block: number) => BlockSpectrum | undefined;

/** A block of the segment. */
interface RecordedBlock {
  /** Whitened, and as recorded. */
  white: Float32Array;
  raw: Float32Array;
  /** Of the whitened spectrum: its energy, and what is expected in noise. */
  energy: Float32Array;
  expected: Float32Array;
}

/** A block of the played audio. */
interface PlayedBlock {
  white: Float32Array;
  raw: Float32Array;
  energy: Float32Array;
  /** 1 for bins that are compared, 0 where only reverberation is expected. */
  isCompared: Uint8Array;
}

/** Creates an empty segment. */
export function createFilterSegment(): FilterSegment {
  let blocks = 0;
  let firstBlock = 0;
  let recording: RecordedBlock[] = [];
  const audio = new Map<number, PlayedBlock>();
  let weighting: BinWeights | null = null;
  /** Bins with a weight. Hot loops count: that takes a sixth less than `for of`. */
  let bins = new Uint16Array();
  /** Of the last correlation; energies are sums over the blocks that are compared. */
  let correlatedLag: number | null = null;
  let isComparable = false;
  const audioEnergy = new Float64Array(BINS);
  const recordedEnergy = new Float64Array(BINS);
  const expected = new Float64Array(BINS);
  const expectedSquares = new Float64Array(BINS);
  const expectedMatch = new Float64Array(BINS);
  /** Blocks that count in a bin, less one; NaN for too few. */
  const degrees = new Float64Array(BINS);
  /** How much more a bin matches by chance where the recording is loud while the audio sounds, from 1. */
  const chanceGain = new Float64Array(BINS);
  const groupsRe = new Float64Array(BINS * GROUPS);
  const groupsIm = new Float64Array(BINS * GROUPS);
  /** Of the last score: coherent sums, the share of the recording's energy that they explain, and its evidence. */
  const sumRe = new Float64Array(BINS);
  const sumIm = new Float64Array(BINS);
  const explained = new Float64Array(BINS);
  const evidence = new Float64Array(BINS);

  /** Returns the noise: a geometric mean, in which a bang counts little. */
  const loadRecording = (recorded: SpectrumAt): Float64Array => {
    const spectra = Array.from({ length: blocks }, (_, block) => recorded(firstBlock + block) as BlockSpectrum);
    const noise = new Float64Array(BINS);
    for (const { surroundings } of spectra)
      for (let bin = 0; bin < BINS; bin++)
        noise[bin] = (noise[bin] as number) + Math.log(surroundings[bin] as number) / blocks;
    for (let bin = 0; bin < BINS; bin++) noise[bin] = Math.exp(noise[bin] as number);
    recording = spectra.map((spectrum) => {
      const white = whiten(spectrum, noise);
      return {
        ...{ white, raw: spectrum.values },
        energy: energiesOf(white),
        expected: spectrum.surroundings.map(
          (around, bin) => around / (around + (noise[bin] as number) + SILENCE_ENERGY),
        ),
      };
    });
    return noise;
  };

  /** Returns the mean energy of each bin. */
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
    const reach = REACH_BLOCKS * LAGS_PER_HOP;
    const loudest = new Float64Array(BINS);
    for (let block = firstBlock * LAGS_PER_HOP - reach; block < to + reach; block++) {
      const spectrum = played(block);
      if (!spectrum) continue;
      // Loud blocks count no more than others, but soft ones less: what is below the mean is below the noise first.
      const white = whiten(spectrum, surroundings);
      const energies = energiesOf(white);
      audio.set(block, { white, raw: spectrum.values, energy: energies, isCompared: new Uint8Array(BINS) });
      for (let bin = 0; bin < BINS; bin++) loudest[bin] = Math.max(loudest[bin] as number, energies[bin] as number);
    }
    findReverberation(loudest);
    return energy;
  };

  /** Marks the bins that sound, or in which the room can't ring any more. */
  const findReverberation = (loudest: Float64Array): void => {
    const lastSounding = new Float64Array(BINS).fill(Number.NEGATIVE_INFINITY);
    for (const [block, { energy, isCompared }] of audio)
      for (let bin = 0; bin < BINS; bin++) {
        const isSounding = (energy[bin] as number) > SOUNDING_SHARE * (loudest[bin] as number);
        if (isSounding) lastSounding[bin] = block;
        isCompared[bin] = isSounding || block - (lastSounding[bin] as number) > RINGING_LAGS ? 1 : 0;
      }
  };

  /** Adds `a` conj(`b`) of each bin that counts. */
  const multiply = (a: Float32Array, b: Float32Array, intoRe: Float64Array, intoIm: Float64Array, at: number): void => {
    for (let n = 0; n < bins.length; n++) {
      const bin = bins[n] as number;
      const aRe = a[2 * bin] as number;
      const aIm = a[2 * bin + 1] as number;
      const bRe = b[2 * bin] as number;
      const bIm = b[2 * bin + 1] as number;
      intoRe[at + bin] = (intoRe[at + bin] as number) + aRe * bRe + aIm * bIm;
      intoIm[at + bin] = (intoIm[at + bin] as number) + aIm * bRe - aRe * bIm;
    }
  };

  const audioAt = (block: number, lag: number): PlayedBlock | undefined =>
    audio.get((firstBlock + block) * LAGS_PER_HOP - lag);

  /** Played audio as it was at a lag, by block of the segment and further steps of 64 ms. */
  const playedAt =
    (lag: number) =>
    (block: number, later: number): Float32Array | undefined =>
      audioAt(block - later, lag)?.raw;

  const addCompared = ({ energy, expected: share }: RecordedBlock, isCompared: Uint8Array): void => {
    for (let n = 0; n < bins.length; n++) {
      const bin = bins[n] as number;
      const isCounted = isCompared[bin] as number;
      const own = isCounted * (share[bin] as number);
      recordedEnergy[bin] = (recordedEnergy[bin] as number) + isCounted * (energy[bin] as number);
      expected[bin] = (expected[bin] as number) + own;
      expectedSquares[bin] = (expectedSquares[bin] as number) + own * own;
    }
  };

  const correlate = (lag: number): boolean => {
    if (lag === correlatedLag) return isComparable;
    correlatedLag = lag;
    for (const sums of [audioEnergy, recordedEnergy, expected, expectedSquares, expectedMatch, groupsRe, groupsIm])
      sums.fill(0);
    const { weights } = weighting as BinWeights;
    let sum = 0;
    let squares = 0;
    for (let block = 0; block < blocks; block++) {
      const here = recording[block] as RecordedBlock;
      const part = audioAt(block, lag);
      addCompared(here, part?.isCompared ?? ALL_COMPARED);
      if (!part) continue;
      multiply(here.white, part.white, groupsRe, groupsIm, Math.floor(block / GROUP_BLOCKS) * BINS);
      let energy = 0;
      for (let n = 0; n < bins.length; n++) {
        const bin = bins[n] as number;
        const own = part.energy[bin] as number;
        audioEnergy[bin] = (audioEnergy[bin] as number) + own;
        expectedMatch[bin] = (expectedMatch[bin] as number) + own * (here.expected[bin] as number);
        energy += own * (weights[bin] as number);
      }
      sum += energy;
      squares += energy * energy;
    }
    for (let n = 0; n < bins.length; n++) {
      const bin = bins[n] as number;
      const count = (expected[bin] as number) ** 2 / (expectedSquares[bin] as number);
      const match = (audioEnergy[bin] as number) * (expected[bin] as number);
      chanceGain[bin] = match === 0 ? 1 : Math.max(1, ((expectedMatch[bin] as number) * count) / match);
      degrees[bin] = count >= MIN_ACTIVE_BLOCKS ? count - 1 : Number.NaN;
    }
    isComparable = squares > 0 && (sum * sum) / squares >= MIN_ACTIVE_BLOCKS;
    return isComparable;
  };

  const score = (drift: number): Score => {
    const groups = Math.ceil(blocks / GROUP_BLOCKS);
    const turns = TURNS[indexOfDrift(drift)] as Float64Array;
    for (let n = 0; n < bins.length; n++) {
      const bin = bins[n] as number;
      // Horner's rule with the turn of one group.
      const cos = turns[2 * bin] as number;
      const sin = turns[2 * bin + 1] as number;
      let re = 0;
      let im = 0;
      for (let group = groups - 1; group >= 0; group--) {
        const turned = re * cos - im * sin + (groupsRe[group * BINS + bin] as number);
        im = re * sin + im * cos + (groupsIm[group * BINS + bin] as number);
        re = turned;
      }
      sumRe[bin] = re;
      sumIm[bin] = im;
      const energy = (audioEnergy[bin] as number) * (recordedEnergy[bin] as number);
      explained[bin] = energy === 0 ? 0 : (re * re + im * im) / energy;
      evidence[bin] = evidenceOf(bin, explained[bin] as number);
    }
    return (weighting as BinWeights).score(evidence);
  };

  /** Without the audio, exponentially distributed with mean 1 (for equal noise in all blocks, else less). */
  const evidenceOf = (bin: number, share: number): number => {
    const known = Math.min(MAX_EXPLAINED, share);
    return (degrees[bin] as number) * Math.log(1 + known / (1 - known) / (chanceGain[bin] as number));
  };

  /** Score at a lag that the match of the last score would have of itself, since the audio resembles itself there. */
  const resemblance = (lag: number, own: number, share: Float64Array): number => {
    const re = new Float64Array(BINS);
    const im = new Float64Array(BINS);
    const energy = new Float64Array(BINS);
    const ownEnergy = new Float64Array(BINS);
    for (let block = 0; block < blocks; block++) {
      const there = audioAt(block, lag);
      const here = audioAt(block, own);
      if (here) for (const bin of bins) ownEnergy[bin] = (ownEnergy[bin] as number) + (here.energy[bin] as number);
      if (there) for (const bin of bins) energy[bin] = (energy[bin] as number) + (there.energy[bin] as number);
      if (there && here) multiply(here.white, there.white, re, im, 0);
    }
    const predicted = new Float64Array(BINS);
    for (let n = 0; n < bins.length; n++) {
      const bin = bins[n] as number;
      const both = (energy[bin] as number) * (ownEnergy[bin] as number);
      if (both === 0) continue;
      const same = Math.min(1, ((re[bin] as number) ** 2 + (im[bin] as number) ** 2) / both);
      predicted[bin] = evidenceOf(bin, same * (share[bin] as number));
    }
    return (weighting as BinWeights).score(predicted).score;
  };

  return {
    load(played, recorded, first, count) {
      firstBlock = first;
      blocks = count;
      correlatedLag = null;
      const noise = loadRecording(recorded);
      weighting = weighBins(loadAudio(played), noise);
      bins = Uint16Array.from({ length: BINS }, (_, bin) => bin).filter(
        (bin) => weighting && weighting.weights[bin] !== 0,
      );
      return weighting !== null;
    },
    get lnLeftOut() {
      return weighting?.lnLeftOut ?? 0;
    },
    get highestHz() {
      return binHz(bins.at(-1) ?? 0);
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
        const found = IMPLAUSIBLE_DRIFTS.map((drift) => score(driftOf(drift)));
        const { score: total, mean, variance } = found.reduce((best, each) => (each.score > best.score ? each : best));
        highest = Math.max(highest, (total - mean - 1.5 * resemblance(lag, own, share)) / Math.sqrt(variance));
      }
      return highest;
    },
    measure(match) {
      const own = match.lag + lagGrowth(firstBlock, match.drift);
      const { weights } = weighting as BinWeights;
      correlate(own);
      score(match.drift);
      const response = new Float64Array(2 * BINS);
      for (let n = 0; n < bins.length; n++) {
        const bin = bins[n] as number;
        const size = Math.hypot(sumRe[bin] as number, sumIm[bin] as number);
        if (size === 0) continue;
        const gain = ((weights[bin] as number) * Math.sqrt(explained[bin] as number)) / size;
        response[2 * bin] = (sumRe[bin] as number) * gain;
        response[2 * bin + 1] = (sumIm[bin] as number) * gain;
      }
      // The delay at the start of the audio.
      const delayS = (own * LAG_SAMPLES + impulsePeak(response)) / SAMPLE_RATE_HZ - match.drift * startOf(firstBlock);
      return {
        delayMs: Math.round(delayS * 10_000) / 10,
        levelDb: measureLevel({
          recorded: recording.map(({ raw }) => raw),
          playedAt: playedAt(own),
          drift: match.drift,
        }),
      };
    },
  };
}

/** Divides each bin by the energy around it and that of a steady floor. */
function whiten({ values, surroundings }: BlockSpectrum, floor: Float64Array): Float32Array {
  const white = new Float32Array(2 * BINS);
  for (let bin = 0; bin < BINS; bin++) {
    const gain = 1 / Math.sqrt((surroundings[bin] as number) + (floor[bin] as number) + SILENCE_ENERGY);
    white[2 * bin] = (values[2 * bin] as number) * gain;
    white[2 * bin + 1] = (values[2 * bin + 1] as number) * gain;
  }
  return white;
}

function energiesOf(values: Float32Array): Float32Array {
  return Float32Array.from({ length: BINS }, (_, bin) => energyOf(values, bin));
}
