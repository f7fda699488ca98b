import { type Clock, fullBucket, takeToken } from "#plugin-api";

/** Limits how often an address may give wrong passwords. */
export interface LoginFailures {
  /** Seconds until the address may try this name again; 0 if it may now. */
  waitSeconds(host: string, user: string): number;
  /** Counts a wrong password. */
  add(host: string, user: string): void;
}

/** Of one name, and of all names together: devices behind a router share its address. */
const NAME_RATE = { capacity: 10, perMs: 1 / 30_000 };
const HOST_RATE = { capacity: 60, perMs: 1 / 5_000 };
/** Oldest first; a forgotten bucket is full again. */
const MAX_BUCKETS = 10_000;

/** Creates the limits, all unused. @source docs/decisions/0754-sip-registrar.md, Wrong passwords */
export function createLoginFailures(clock: Pick<Clock, "monotonicMs">): LoginFailures {
  const buckets = new Map<string, ReturnType<typeof fullBucket>>();
  const limitsOf = (host: string, user: string) =>
    [
      [`${host} ${user}`, NAME_RATE],
      [host, HOST_RATE],
    ] as const;
  return {
    waitSeconds(host, user) {
      const now = clock.monotonicMs();
      const waits = limitsOf(host, user).map(([key, rate]) => {
        const bucket = buckets.get(key);
        // A look must not take a token.
        return bucket ? takeToken({ ...bucket }, rate, now) : 0;
      });
      return Math.ceil(Math.max(...waits) / 1_000);
    },
    add(host, user) {
      const now = clock.monotonicMs();
      for (const [key, rate] of limitsOf(host, user)) {
        const bucket = buckets.get(key) ?? fullBucket(rate, now);
        buckets.delete(key);
        buckets.set(key, bucket);
        takeToken(bucket, rate, now);
      }
      for (const oldest of buckets.keys()) {
        if (buckets.size <= MAX_BUCKETS) break;
        buckets.delete(oldest);
      }
    },
  };
}
