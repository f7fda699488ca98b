import type { Clock } from "#plugin-api";

/**
 * Adaptive limit of concurrent phone requests. Each phone calls back to this machine, so too many at once would delay
 * every response.
 * @source RFC 5681 §3.1: additive increase, multiplicative decrease
 */
export interface ConcurrencyLimit {
  current(): number;
  /** A phone responded after this time. */
  recordResponse(tookMs: number): void;
  /** A connected phone did not respond in time. Unreachable phones do not count. */
  recordTimeout(): void;
}

export interface ConcurrencyBounds {
  min: number;
  start: number;
  max: number;
}

/** Phones need up to 2 s by themselves; longer responses waited for this machine. */
const QUICK_MS = 2_000;
const SLOW_MS = 3_000;
/** Simultaneous timeouts are one signal. */
const HALVE_EVERY_MS = 1_000;

/** Creates a limit that begins at `start`. */
export function createConcurrencyLimit(clock: Clock, { min, start, max }: ConcurrencyBounds): ConcurrencyLimit {
  let limit = start;
  let halvedAt = Number.NEGATIVE_INFINITY;
  return {
    current: () => limit,
    recordResponse(tookMs) {
      if (tookMs <= QUICK_MS) limit = Math.min(max, limit + 1);
      else if (tookMs > SLOW_MS) limit = Math.max(min, limit - 1);
    },
    recordTimeout() {
      if (clock.monotonicMs() < halvedAt + HALVE_EVERY_MS) return;
      halvedAt = clock.monotonicMs();
      limit = Math.max(min, Math.floor(limit / 2));
    },
  };
}
