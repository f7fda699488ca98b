import { BINS } from "./block-spectra.ts";
import type { Score } from "./filter-grid.ts";

/** How much each bin counts in a match. */
export interface BinWeights {
  /** 0 for bins that don't count. */
  weights: Float64Array;
  /** Score of the evidence of each bin, NaN where there is none, with mean and variance of recordings without the audio. */
  score(evidence: Float64Array): Score;
  /** Natural logarithm of the chance that the notes that are left out match; 0 if none are. */
  lnLeftOut: number;
}

/** Bins that would stand out of the noise by 16 dB less than the best ones say nothing. */
const FULL_WEIGHT_SHARE = 4;
const MIN_WEIGHT = 0.15;
/** Limit of one bin's part in the match: few frequencies that the room has by chance must not decide. */
const MIN_LIMIT = 3;
const LIMIT_OF_ALL = 300;
/** Notes are groups of bins, of which the best ones are left out: other music shares some of them by chance. */
const MAX_NOTE_BINS = 16;
const LEFT_OUT = 0.3;
/** Chance that a given one is shared: of single notes, one in a hundred matches other music of the appliance. */
const SHARED_NOTE = 0.05;
/** Music on the same scale shares several notes at once. */
const MIN_SHARED = 0.01;
/** Smaller groups are side lobes and distortion. */
const MIN_NOTE_SHARE = 0.2;
/** Noise and speech with more bins than this share none. */
const BROAD_BINS = 150;
/** Overlapping Hann windows: squared correlation of neighbouring bins, and of those two apart. */
const NEIGHBOUR_CORRELATION = 4 / 9;
const SECOND_NEIGHBOUR_CORRELATION = 1 / 36;

/** Weights for audio and noise of these energies; null for silence. */
export function weighBins(energy: Float64Array, noise: Float64Array): BinWeights | null {
  let sum = 0;
  let squares = 0;
  for (let bin = 0; bin < BINS; bin++) {
    const ratio = (energy[bin] as number) / (noise[bin] as number);
    sum += ratio;
    squares += ratio * ratio;
  }
  if (sum === 0) return null;
  const weights = energy.map((each, bin) => {
    const ratio = (each / (noise[bin] as number)) * (sum / squares);
    const weight = Math.min(1, Math.sqrt(ratio * FULL_WEIGHT_SHARE));
    return weight < MIN_WEIGHT ? 0 : weight;
  });
  return createWeights(weights);
}

/** A group of neighbouring bins. */
interface Note {
  from: number;
  to: number;
  weight: number;
  variance: number;
}

function createWeights(weights: Float64Array): BinWeights {
  const all = notesOf(weights);
  const largest = Math.max(...all.map(({ weight }) => weight));
  for (const { from, to, weight } of all) if (weight < largest * MIN_NOTE_SHARE) weights.fill(0, from, to);
  const notes = notesOf(weights);
  const limit = Math.max(MIN_LIMIT, LIMIT_OF_ALL / effectiveBins(weights));
  const leftOut = notes.length === 1 || effectiveBins(weights) > BROAD_BINS ? 0 : Math.ceil(LEFT_OUT * notes.length);
  // Mean and variance of an exponential variable cut off at the limit.
  const beyond = Math.exp(-limit);
  const mean = 1 - beyond;
  const variance = 1 - 2 * limit * beyond - beyond * beyond;
  const scores = new Float64Array(notes.length);
  let lnLeftOut = 0;
  for (let n = 0; n < leftOut; n++) lnLeftOut += Math.log((SHARED_NOTE * (notes.length - n)) / (n + 1));
  return {
    weights,
    lnLeftOut: Math.min(0, Math.max(Math.log(MIN_SHARED), lnLeftOut)),
    score(evidence) {
      const total = { score: 0, mean: 0, variance: 0, sharpness: 0 };
      notes.forEach((note, n) => {
        let score = 0;
        for (let bin = note.from; bin < note.to; bin++) {
          const weight = weights[bin] as number;
          const own = evidence[bin] as number;
          score += weight * (Number.isNaN(own) ? mean : Math.min(limit, own));
          if (!Number.isNaN(own)) total.sharpness += weight * own;
        }
        scores[n] = score;
        total.score += score;
        total.mean += note.weight * mean;
        total.variance += note.variance * variance;
      });
      for (let times = 0; times < leftOut; times++) {
        let best = 0;
        for (let n = 1; n < notes.length; n++) if ((scores[n] as number) > (scores[best] as number)) best = n;
        const note = notes[best] as Note;
        total.score -= scores[best] as number;
        total.mean -= note.weight * mean;
        total.variance -= note.variance * variance;
        scores[best] = Number.NEGATIVE_INFINITY;
      }
      return total;
    },
  };
}

/** Number of bins of weight 1 that average as well. */
function effectiveBins(weights: Float64Array): number {
  let sum = 0;
  let squares = 0;
  for (const weight of weights) {
    sum += weight;
    squares += weight * weight;
  }
  return squares === 0 ? 0 : (sum * sum) / squares;
}

function notesOf(weights: Float64Array): Note[] {
  const notes: Note[] = [];
  for (let from = 0; from < BINS; from++) {
    if (weights[from] === 0) continue;
    const note = { from, to: from, weight: 0, variance: 0 };
    for (; note.to < BINS && weights[note.to] !== 0 && note.to - from < MAX_NOTE_BINS; note.to++) {
      const own = weights[note.to] as number;
      note.weight += own;
      note.variance +=
        own *
        (own +
          2 * NEIGHBOUR_CORRELATION * (weights[note.to + 1] ?? 0) +
          2 * SECOND_NEIGHBOUR_CORRELATION * (weights[note.to + 2] ?? 0));
    }
    notes.push(note);
    from = note.to - 1;
  }
  return notes;
}
