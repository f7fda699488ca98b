import type { Clock } from "../lib/clock.ts";

/** How long somebody who guesses has to wait. */
export interface ThrottlePolicy {
  /** Wrong attempts in a row without any wait. */
  freeAttempts: number;
  /** The first wait; each further one is twice as long, up to `mostMs`. */
  initialDelayMs: number;
  maxDelayMs: number;
  /** After each such time without one, one wrong attempt is forgotten; never when absent. */
  decayIntervalMs?: number;
}

/** Counts attempts by key (an account, an address) and makes those who fail wait. */
export interface AttemptThrottle {
  /**
   * Begins an attempt, which counts as a wrong one until it is taken back. Returns the seconds to wait when it is too
   * early for another, and counts nothing then; else 0.
   */
  begin(key: string): number;
  /** The attempt was right: it no longer counts. */
  rollback(key: string): void;
  /** Forgets all attempts of a key. */
  reset(key: string): void;
}

interface AttemptCount {
  wrong: number;
  /** Monotonic ms. */
  waitsUntil: number;
  lastAt: number;
}

/** After so long without an attempt everything is forgotten. own choice */
const RETENTION_MS = 900_000;
/** Keys remembered; beyond it the one unused for longest goes. */
const MAX_KEYS = 10_000;

/** Makes a counter; what is counted is lost at a restart. */
export function createAttemptThrottle(
  clock: Clock,
  { freeAttempts, initialDelayMs, maxDelayMs, decayIntervalMs = Number.POSITIVE_INFINITY }: ThrottlePolicy,
): AttemptThrottle {
  const tallies = new Map<string, AttemptCount>();
  const remembered = ({ wrong, lastAt }: AttemptCount, now: number): number =>
    now - lastAt < RETENTION_MS ? Math.max(0, wrong - Math.floor((now - lastAt) / decayIntervalMs)) : 0;
  return {
    begin(key) {
      const now = clock.monotonicMs();
      const known = tallies.get(key);
      if (known && now < known.waitsUntil) return Math.ceil((known.waitsUntil - now) / 1_000);
      const wrong = 1 + (known ? remembered(known, now) : 0);
      const waitMs = wrong <= freeAttempts ? 0 : Math.min(maxDelayMs, initialDelayMs * 2 ** (wrong - freeAttempts - 1));
      // Put in anew, so that the first key is the one unused for longest.
      tallies.delete(key);
      const oldest = tallies.size >= MAX_KEYS ? tallies.keys().next().value : undefined;
      if (oldest !== undefined) tallies.delete(oldest);
      tallies.set(key, { wrong, waitsUntil: now + waitMs, lastAt: now });
      return 0;
    },
    rollback(key) {
      const known = tallies.get(key);
      if (!known) return;
      known.wrong -= 1;
      known.waitsUntil = 0;
      if (known.wrong <= 0) tallies.delete(key);
    },
    reset: (key) => void tallies.delete(key),
  };
}
