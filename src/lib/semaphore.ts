import { TooManyRequestsError } from "./errors.ts";

/**
 * Runs at most `atOnce` tasks at a time; the others wait in order. Throws TooManyRequestsError when more than
 * `mostWaiting` would wait.
 */
export function createSemaphore(
  maxConcurrent: number,
  maxWaiting = Number.POSITIVE_INFINITY,
): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running >= maxConcurrent) {
      if (waiting.length >= maxWaiting) throw new TooManyRequestsError(1);
      await new Promise<void>((resolve) => void waiting.push(resolve));
    } else running += 1;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
