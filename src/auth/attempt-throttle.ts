import { backoffMs } from "../lib/backoff.ts";
import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";

/** Backoff for failed attempts. */
export interface ThrottlePolicy {
  /** Failed attempts in a row without a delay. */
  freeAttempts: number;
  /** The first delay; it doubles with each further failure, up to `maxDelayMs`. */
  initialDelayMs: number;
  maxDelayMs: number;
  /** One failed attempt expires after each interval without an attempt; default: never. */
  decayIntervalMs?: number;
  /** A key without attempts for this long is forgotten; default: 15 minutes. */
  retentionMs?: number;
}

/** Login throttle: a rate limit with exponential backoff per key (an account, a network address). */
export interface AttemptThrottle {
  /**
   * Registers an attempt, which counts as failed until `rollback`. Returns 0 if it is allowed, else the seconds to
   * wait; a refused attempt is not counted.
   */
  begin(key: string): number;
  /** Undoes one `begin` after a successful attempt. */
  rollback(key: string): void;
  /** Clears all attempts of a key. */
  reset(key: string): void;
}

interface AttemptCount {
  wrong: number;
  /** Monotonic ms. */
  waitsUntil: number;
  lastAt: number;
}

const DEFAULT_RETENTION_MS = 900_000;
/** Maximum number of tracked keys; the least recently used one is evicted. */
const MAX_KEYS = 10_000;

/**
 * Creates a throttle; counts are kept in memory and lost at a restart.
 * @source docs/decisions/0400-login-and-sessions.md, Login throttle
 */
export function createAttemptThrottle(
  clock: Clock,
  {
    freeAttempts,
    initialDelayMs,
    maxDelayMs,
    decayIntervalMs = Number.POSITIVE_INFINITY,
    retentionMs = DEFAULT_RETENTION_MS,
  }: ThrottlePolicy,
): AttemptThrottle {
  const tallies = new Map<string, AttemptCount>();
  const remembered = ({ wrong, lastAt }: AttemptCount, now: number): number =>
    now - lastAt < retentionMs ? Math.max(0, wrong - Math.floor((now - lastAt) / decayIntervalMs)) : 0;
  return {
    begin(key) {
      const now = clock.monotonicMs();
      const known = tallies.get(key);
      if (known && now < known.waitsUntil) return Math.ceil((known.waitsUntil - now) / 1_000);
      const wrong = 1 + (known ? remembered(known, now) : 0);
      const waitMs = wrong <= freeAttempts ? 0 : backoffMs(wrong - freeAttempts, initialDelayMs, maxDelayMs);
      setBounded(tallies, key, { wrong, waitsUntil: now + waitMs, lastAt: now }, MAX_KEYS);
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
