import { BINS, binHz } from "./block-spectra.ts";
import { energyOf, startOf } from "./filter-grid.ts";

/** A recording and the audio played at the delay found. */
export interface AlignedAudio {
  /** Spectra of the recording, block by block. */
  recorded: readonly Float32Array[];
  /** Spectrum of the audio for a block of the recording, so many blocks later than the delay; undefined beyond it. */
  playedAt(block: number, later: number): Float32Array | undefined;
  /** Growth of the delay. */
  drift: number;
}

/** Taps in blocks of 64 ms around the delay: direct sound and early reverberation. */
const TAPS = [0, 1, 2, 3, 4, -1];
const MAX_LEVEL_DB = 60;
/** The audio sounds in blocks that are not 20 dB below its loudest one. */
const MIN_ENERGY_SHARE = 0.01;

/** Level of what a few filter taps around the delay explain of the recording, over the rest, in dB. */
export function measureLevel(aligned: AlignedAudio): number {
  const sounding = soundingBlocks(aligned);
  const residual = new Float64Array(2 * sounding.length);
  let signal = 0;
  let noise = 0;
  for (let bin = 0; bin < BINS; bin++) {
    const total = removeDrift(aligned, sounding, bin, residual);
    // Two passes of Gauss-Seidel.
    for (const tap of [...TAPS, ...TAPS]) subtractTap(aligned, sounding, bin, tap, residual);
    let rest = 0;
    for (const part of residual) rest += part * part;
    // What as many taps explain of noise by chance.
    rest = Math.min(total, (rest * sounding.length) / Math.max(1, sounding.length - TAPS.length));
    signal += total - rest;
    noise += rest;
  }
  const db = 10 * Math.log10(Math.max(signal, 1e-9) / Math.max(noise, 1e-9));
  return Math.round(Math.max(-MAX_LEVEL_DB, Math.min(MAX_LEVEL_DB, db)) * 10) / 10;
}

function soundingBlocks({ recorded, playedAt }: AlignedAudio): number[] {
  const energies = recorded.map((_, block) => playedAt(block, 0)?.reduce((sum, value) => sum + value * value, 0) ?? 0);
  const loudest = Math.max(...energies);
  return energies.flatMap((energy, block) => (energy > loudest * MIN_ENERGY_SHARE ? [block] : []));
}

/** Writes a bin of the recording as if the delay did not grow; returns its energy. */
function removeDrift(
  { recorded, drift }: AlignedAudio,
  blocks: readonly number[],
  bin: number,
  into: Float64Array,
): number {
  let energy = 0;
  blocks.forEach((block, n) => {
    const values = recorded[block] as Float32Array;
    const turn = 2 * Math.PI * binHz(bin) * drift * startOf(block);
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    into[2 * n] = (values[2 * bin] as number) * cos - (values[2 * bin + 1] as number) * sin;
    into[2 * n + 1] = (values[2 * bin] as number) * sin + (values[2 * bin + 1] as number) * cos;
    energy += energyOf(values, bin);
  });
  return energy;
}

function subtractTap(
  { playedAt }: AlignedAudio,
  blocks: readonly number[],
  bin: number,
  tap: number,
  residual: Float64Array,
): void {
  let [re, im, energy] = [0, 0, 0];
  blocks.forEach((block, n) => {
    const played = playedAt(block, tap);
    if (!played) return;
    const [a, b] = [played[2 * bin] as number, played[2 * bin + 1] as number];
    const [c, d] = [residual[2 * n] as number, residual[2 * n + 1] as number];
    re += c * a + d * b;
    im += d * a - c * b;
    energy += a * a + b * b;
  });
  if (energy === 0) return;
  blocks.forEach((block, n) => {
    const played = playedAt(block, tap);
    if (!played) return;
    const [a, b] = [played[2 * bin] as number, played[2 * bin + 1] as number];
    residual[2 * n] = (residual[2 * n] as number) - (re * a - im * b) / energy;
    residual[2 * n + 1] = (residual[2 * n + 1] as number) - (re * b + im * a) / energy;
  });
}
