/** One figure with its limit beside it, both taken in the same run. */
export interface BenchmarkFigure {
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
export interface BenchmarkRow {
  number: number;
  name: string;
  /** Measures, in several interleaved rounds; `say` tells how far it is. */
  measure(say: (progress: string) => void): Promise<BenchmarkFigure[]>;
}

/** The middle value; the greater of the two middle ones where there are two. Throws for an empty list. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? nothing();
}

/** The least value that `percent` percent of all values do not exceed; Infinity counts. Throws for an empty list. */
export function percentile(values: readonly number[], percent: number): number {
  const place = Math.ceil((values.length * percent) / 100);
  return [...values].sort((a, b) => a - b)[Math.max(0, place - 1)] ?? nothing();
}

function nothing(): never {
  throw new RangeError("no values");
}

/** A figure that must reach at least `least` of its limit. */
export function atLeast(given: Omit<BenchmarkFigure, "ratio" | "goal" | "met">, least: number): BenchmarkFigure {
  const ratio = given.ours / given.limit;
  return { ...given, ratio, goal: `>= ${least}x`, met: ratio >= least };
}

/** A figure that may be at most `most` times its limit. */
export function atMost(given: Omit<BenchmarkFigure, "ratio" | "goal" | "met">, most: number): BenchmarkFigure {
  const ratio = given.ours / given.limit;
  return { ...given, ratio, goal: `<= ${most}x`, met: ratio <= most };
}
