import type { Clock } from "#plugin-api";

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
  const maxTokens = Math.max(1, (perSecond * TICK_MS * 2) / 1_000);
  let tokens = maxTokens;
  let refilledAt = clock.monotonicMs();
  let isTicking = false;

  const startDue = (): void => {
    isTicking = false;
    const now = clock.monotonicMs();
    tokens = Math.min(maxTokens, tokens + ((now - refilledAt) * perSecond) / 1_000);
    refilledAt = now;
    for (let queue = queues.find(({ length }) => length > 0); queue; queue = queues.find(({ length }) => length > 0)) {
      if (tokens < 1) {
        isTicking = true;
        clock.after(TICK_MS, startDue);
        return;
      }
      tokens--;
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
