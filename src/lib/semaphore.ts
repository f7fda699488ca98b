import { TooManyRequestsError } from "./errors.ts";

/**
 * Runs at most `maxConcurrent` tasks at a time; the others wait in order, those that are urgent at that moment first.
 * Throws TooManyRequestsError when more than `maxWaiting` would wait.
 */
export function createSemaphore(
  maxConcurrent: number,
  maxWaiting = Number.POSITIVE_INFINITY,
): <T>(task: () => Promise<T>, isUrgent?: () => boolean) => Promise<T> {
  const waiting: { isUrgent: () => boolean; start: () => void }[] = [];
  let running = 0;
  return async (task, isUrgent = () => false) => {
    if (running >= maxConcurrent) {
      if (waiting.length >= maxWaiting) throw new TooManyRequestsError(1);
      await new Promise<void>((start) => void waiting.push({ isUrgent, start }));
    } else running += 1;
    try {
      return await task();
    } finally {
      const urgent = waiting.findIndex((each) => each.isUrgent());
      const [next] = waiting.splice(Math.max(0, urgent), 1);
      if (next) next.start();
      else running -= 1;
    }
  };
}
