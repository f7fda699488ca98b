/** How large waves are. */
export interface WaveSizes {
  firstWave: number;
  waveSize: number;
  growth: number;
}

/** Maximum size of a wave; the first wave is 1. */
export function waveSizeAt({ firstWave, waveSize, growth }: WaveSizes, wave: number): number {
  return wave <= 1 ? firstWave : Math.min(waveSize * growth ** (wave - 2), Number.MAX_SAFE_INTEGER);
}

/** Sizes of the waves after wave `last` for those that are still `waiting`; `most` of them at most. */
export function remainingWaves(sizes: WaveSizes, last: number, waiting: number, maxWaves: number): number[] {
  const waves: number[] = [];
  for (let left = waiting; left > 0 && waves.length < maxWaves; ) {
    const size = Math.min(left, waveSizeAt(sizes, last + waves.length + 1));
    waves.push(size);
    left -= size;
  }
  return waves;
}
