import type { Clock } from "#plugin-api";

/** Starts things one after another, the most urgent first, at most so many in a second. */
export interface CallRateLimiter {
  /** `priority` is 0 (most urgent) to 9. */
  schedule(priority: number, start: () => void): void;
}

const PRIORITY_COUNT = 10;
const TICK_MS = 10;

/** Makes a pace that starts the first at once. */
export function createCallRateLimiter(clock: Clock, perSecond: number): CallRateLimiter {
  const queues: (() => void)[][] = Array.from({ length: PRIORITY_COUNT }, () => []);
  /** What may be started, some at once but never what was saved up for long. */
  const maxTokens = Math.max(1, (perSecond * TICK_MS * 2) / 1_000);
  let tokens = maxTokens;
  let refilledAt = clock.monotonicMs();
  let isTicking = false;

  const startDue = (): void => {
    isTicking = false;
    const now = clock.monotonicMs();
    tokens = Math.min(maxTokens, tokens + ((now - refilledAt) * perSecond) / 1_000);
    refilledAt = now;
    for (let lane = queues.find(({ length }) => length > 0); lane; lane = queues.find(({ length }) => length > 0)) {
      if (tokens < 1) {
        isTicking = true;
        clock.after(TICK_MS, startDue);
        return;
      }
      tokens--;
      lane.shift()?.();
    }
  };

  return {
    schedule(priority, start) {
      queues[Math.min(PRIORITY_COUNT - 1, Math.max(0, priority))]?.push(start);
      if (!isTicking) startDue();
    },
  };
}
