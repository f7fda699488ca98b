import type { Clock } from "#plugin-api";

/**
 * How many phones are talked to at once. Each phone calls back into this machine, so more than it can carry would let
 * every answer come too late. @source RFC 5681 §3.1: grow with each answer, halve on loss
 */
export interface ConcurrencyLimit {
  current(): number;
  /** A phone has answered after so many ms. */
  recordResponse(tookMs: number): void;
  /** A phone that took the connection has not answered in time; one that is off line says nothing about the pace. */
  recordTimeout(): void;
}

/** Bounds of a pace. */
export interface ConcurrencyBounds {
  least: number;
  start: number;
  most: number;
}

/** own choice: phones take up to 2 s to answer by themselves; what takes longer has waited for this machine. */
const QUICK_MS = 2_000;
const SLOW_MS = 3_000;
/** Answers that are late together are one sign, not many. */
const HALVE_EVERY_MS = 1_000;

/** Makes a pace that begins at `start`. */
export function createConcurrencyLimit(clock: Clock, { least, start, most }: ConcurrencyBounds): ConcurrencyLimit {
  let limit = start;
  let halvedAt = Number.NEGATIVE_INFINITY;
  return {
    current: () => limit,
    recordResponse(tookMs) {
      if (tookMs <= QUICK_MS) limit = Math.min(most, limit + 1);
      else if (tookMs > SLOW_MS) limit = Math.max(least, limit - 1);
    },
    recordTimeout() {
      if (clock.monotonicMs() < halvedAt + HALVE_EVERY_MS) return;
      halvedAt = clock.monotonicMs();
      limit = Math.max(least, Math.floor(limit / 2));
    },
  };
}
