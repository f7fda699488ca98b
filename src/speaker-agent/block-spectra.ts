import { createFft } from "../media/fft.ts";
import { SAMPLE_RATE_HZ } from "../media/samples.ts";

/** A block has 128 ms: as long as early reverberation, short against the words of a message. */
export const BLOCK_SAMPLES = 1_024;
/** Frequencies that small speakers and microphones both pass: 250 to 3,700 Hz. */
const FIRST_BIN = 32;
export const BINS = 441;
/** The spectrum around a frequency: 16 bins to each side, 250 Hz in all. */
const REACH = 16;
/** Energy of rounding to 16 bits, so that digital silence stays silent. */
const ROUNDING_ENERGY = 100;

/** Spectrum of a block in the band. */
export interface BlockSpectrum {
  /** Real and imaginary part of each bin, in turn. */
  values: Float32Array;
  /** Mean energy of the bins around each one. */
  surroundings: Float32Array;
}

/** Spectra of overlapping blocks of a stream of samples, from its first sample on. */
export interface BlockSpectra {
  add(pcm: Int16Array): void;
  /** Number of blocks so far, with those that were dropped. */
  readonly count: number;
  /** Undefined for a block that is still to come, was dropped or would lie before the first sample. */
  at(block: number): BlockSpectrum | undefined;
  /** Drops the blocks before this one. */
  dropBefore(block: number): void;
}

/** Centre of a bin. */
export function binHz(bin: number): number {
  return ((FIRST_BIN + bin) * SAMPLE_RATE_HZ) / BLOCK_SAMPLES;
}

const fft = createFft(BLOCK_SAMPLES);
const HANN = Float64Array.from(
  { length: BLOCK_SAMPLES },
  (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (n + 0.5)) / BLOCK_SAMPLES),
);
const re = new Float64Array(BLOCK_SAMPLES);
const im = new Float64Array(BLOCK_SAMPLES);
const sums = new Float64Array(BINS + 1);

/** Creates the spectra of a stream, a block every `hop` samples. */
export function createBlockSpectra(hop: number): BlockSpectra {
  const waiting = new Int16Array(BLOCK_SAMPLES);
  let waitingSamples = 0;
  let blocks: BlockSpectrum[] = [];
  let dropped = 0;
  return {
    add(pcm) {
      for (let at = 0; at < pcm.length; ) {
        const part = pcm.subarray(at, at + BLOCK_SAMPLES - waitingSamples);
        waiting.set(part, waitingSamples);
        waitingSamples += part.length;
        at += part.length;
        if (waitingSamples < BLOCK_SAMPLES) break;
        blocks.push(spectrumOf(waiting));
        waiting.copyWithin(0, hop);
        waitingSamples -= hop;
      }
    },
    get count() {
      return dropped + blocks.length;
    },
    at: (block) => blocks[block - dropped],
    dropBefore(block) {
      const count = Math.max(0, Math.min(blocks.length, block - dropped));
      blocks = blocks.slice(count);
      dropped += count;
    },
  };
}

function spectrumOf(pcm: Int16Array): BlockSpectrum {
  im.fill(0);
  for (let n = 0; n < BLOCK_SAMPLES; n++) re[n] = (pcm[n] as number) * (HANN[n] as number);
  fft.forward(re, im);
  const values = new Float32Array(2 * BINS);
  for (let bin = 0; bin < BINS; bin++) {
    const a = re[FIRST_BIN + bin] as number;
    const b = im[FIRST_BIN + bin] as number;
    values[2 * bin] = a;
    values[2 * bin + 1] = b;
    sums[bin + 1] = (sums[bin] as number) + a * a + b * b;
  }
  const surroundings = Float32Array.from({ length: BINS }, (_, bin) => {
    const from = Math.max(0, bin - REACH);
    const to = Math.min(BINS, bin + REACH + 1);
    return ((sums[to] as number) - (sums[from] as number)) / (to - from) + ROUNDING_ENERGY;
  });
  return { values, surroundings };
}

/** Peak of the impulse response that has this spectrum, in samples from -512 to 511. */
export function impulsePeak(spectrum: Float64Array): number {
  re.fill(0);
  im.fill(0);
  for (let bin = 0; bin < BINS; bin++) {
    re[FIRST_BIN + bin] = spectrum[2 * bin] as number;
    im[FIRST_BIN + bin] = spectrum[2 * bin + 1] as number;
  }
  fft.inverse(re, im);
  let peak = 0;
  let highest = 0;
  for (let n = 0; n < BLOCK_SAMPLES; n++) {
    const energy = (re[n] as number) ** 2 + (im[n] as number) ** 2;
    if (energy <= highest) continue;
    highest = energy;
    peak = n;
  }
  return peak < BLOCK_SAMPLES / 2 ? peak : peak - BLOCK_SAMPLES;
}
