/** One figure with its limit beside it, both taken in the same run. */
export interface Figure {
  /** What was measured, such as `32 clients`. */
  what: string;
  ours: number;
  /** What nothing on this machine can beat, or what the goal is judged against. */
  limit: number;
  /** What the limit is, in words. */
  against: string;
  unit: string;
  /** Ours / limit. */
  ratio: number;
  goal: string;
  met: boolean;
}

/** One row of the table of goals; numbers are those of the table in the README. */
export interface Row {
  number: number;
  name: string;
  /** Measures, in several interleaved rounds; `say` tells how far it is. */
  measure(say: (progress: string) => void): Promise<Figure[]>;
}

/** The middle value; the mean of the two middle ones where there are two. Throws for an empty list. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The `percent` percentile by linear interpolation. Throws for an empty list. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) throw new RangeError("no values");
  const sorted = [...values].sort((a, b) => a - b);
  const at = ((sorted.length - 1) * percent) / 100;
  const low = sorted[Math.floor(at)] as number;
  const high = sorted[Math.ceil(at)] as number;
  return low + (high - low) * (at - Math.floor(at));
}

/** A figure that must reach at least `least` of its limit. */
export function atLeast(given: Omit<Figure, "ratio" | "goal" | "met">, least: number): Figure {
  const ratio = given.ours / given.limit;
  return { ...given, ratio, goal: `>= ${least}x`, met: ratio >= least };
}

/** A figure that may be at most `most` times its limit. */
export function atMost(given: Omit<Figure, "ratio" | "goal" | "met">, most: number): Figure {
  const ratio = given.ours / given.limit;
  return { ...given, ratio, goal: `<= ${most}x`, met: ratio <= most };
}
