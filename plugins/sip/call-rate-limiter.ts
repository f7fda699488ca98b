import { type Clock, fullBucket, takeToken } from "#plugin-api";

/** Starts functions in order of priority, limited per second. */
export interface CallRateLimiter {
  /** `priority` is 0 (most urgent) to 9. */
  schedule(priority: number, start: () => void): void;
}

const PRIORITY_COUNT = 10;
const TICK_MS = 10;

/** Creates a token bucket; the first function starts at once. */
export function createCallRateLimiter(clock: Clock, perSecond: number): CallRateLimiter {
  const queues: (() => void)[][] = Array.from({ length: PRIORITY_COUNT }, () => []);
  /** A small burst, so that unused capacity does not accumulate. */
  const rate = { capacity: Math.max(1, (perSecond * TICK_MS * 2) / 1_000), perMs: perSecond / 1_000 };
  const bucket = fullBucket(rate, clock.monotonicMs());
  let isTicking = false;

  const startDue = (): void => {
    isTicking = false;
    const now = clock.monotonicMs();
    for (let queue = queues.find(({ length }) => length > 0); queue; queue = queues.find(({ length }) => length > 0)) {
      if (takeToken(bucket, rate, now) > 0) {
        isTicking = true;
        clock.after(TICK_MS, startDue);
        return;
      }
      queue.shift()?.();
    }
  };

  return {
    schedule(priority, start) {
      queues[Math.min(PRIORITY_COUNT - 1, Math.max(0, priority))]?.push(start);
      if (!isTicking) startDue();
    },
  };
}
