/** Chance of one seed: every draw follows from the draws before it. */
export interface RandomSource {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  below(below: number): number;
  /** True with this probability. */
  happens(probability: number): boolean;
  /** One of them; the list must not be empty. */
  pick<T>(from: readonly T[]): T;
  /** A text in the form of a UUID. */
  id(): string;
}

/** Makes the dice of a seed (mulberry32). */
export function createRandomSource(seed: number): RandomSource {
  let state = (seed * 0x9e3779b1) >>> 0;
  let made = 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const hex = (digits: number): string =>
    Math.floor(next() * 16 ** digits)
      .toString(16)
      .padStart(digits, "0");
  return {
    next,
    below: (below) => Math.floor(next() * below),
    happens: (probability) => next() < probability,
    pick: (from) => from[Math.floor(next() * from.length)] as (typeof from)[number],
    id() {
      made += 1;
      return `${hex(8)}-${made.toString(16).padStart(4, "0").slice(-4)}-7${hex(3)}-8${hex(3)}-${hex(8)}${hex(4)}`;
    },
  };
}
