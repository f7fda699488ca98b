import { TooManyRequestsError } from "./errors.ts";

/**
 * Runs at most `atOnce` tasks at a time; the others wait in order. Throws TooManyRequestsError when more than
 * `mostWaiting` would wait.
 */
export function createSemaphore(
  atOnce: number,
  mostWaiting = Number.POSITIVE_INFINITY,
): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= mostWaiting) throw new TooManyRequestsError(1);
      await new Promise<void>((resolve) => void waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
