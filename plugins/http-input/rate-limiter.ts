import type { Clock } from "#plugin-api";

/** Rate limit per source. */
export interface SourceRateLimiter {
  /** Counts a request; returns the seconds to wait if the limit is exceeded, else 0. */
  waitSeconds(source: string, perMinute: number): number;
}

const MINUTE_MS = 60_000;

/** Creates the limiter: fixed windows of a minute that begin with the first request. */
export function createSourceRateLimiter(clock: Clock): SourceRateLimiter {
  const minutes = new Map<string, { since: number; count: number }>();
  return {
    waitSeconds(source, perMinute) {
      const now = clock.monotonicMs();
      const known = minutes.get(source);
      const minute = known && now - known.since < MINUTE_MS ? known : { since: now, count: 0 };
      minutes.set(source, minute);
      if (minute.count >= perMinute) return Math.ceil((minute.since + MINUTE_MS - now) / 1_000);
      minute.count += 1;
      return 0;
    },
  };
}
