import type { Clock } from "#plugin-api";

/** How much each source may tell. */
export interface SourceRateLimiter {
  /** Counts a request; the seconds to wait when there were too many, else 0. */
  waitSeconds(source: string, perMinute: number): number;
}

const MINUTE_MS = 60_000;

/** Makes the count: so many in each minute that begins with the first request. */
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
