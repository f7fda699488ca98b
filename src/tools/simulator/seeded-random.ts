/** Mixes an integer into a 32-bit hash (finalizer of MurmurHash3). */
function mixHash(hash: number, part: number): number {
  let mixed = Math.imul(hash ^ part, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/**
 * A number in [0, 1) that depends on the seed and the given integers only: without hidden state, neither the order of arrivals
 * nor the load of the machine changes the result.
 */
export function seededRandom(seed: number, ...parts: number[]): number {
  let hash = mixHash(0x9e3779b9, seed);
  for (const part of parts) hash = mixHash(hash + 0x6d2b79f5, part);
  return (mixHash(hash, parts.length) >>> 0) / 0x1_0000_0000;
}

/** A shuffled copy of the values, determined by the seed and `salt`. */
export function seededShuffle<T>(values: readonly T[], seed: number, salt: number): T[] {
  const keyed = values.map((value, index) => ({ value, key: seededRandom(seed, salt, index), index }));
  keyed.sort((a, b) => a.key - b.key || a.index - b.index);
  return keyed.map((entry) => entry.value);
}
