import { TooManyRequests } from "../base/errors.ts";

/** Passwords hashed at a time. own choice: other work needs the thread pool too. */
const AT_ONCE = 2;
/** Those that may wait for it: with less than 0.1 s each, whoever is let in waits for less than a second. own choice */
const MOST_WAITING = 16;

/** Lets few run at a time; the others wait in order. Throws TooManyRequests when too many wait. */
export function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= AT_ONCE) {
      if (waiting.length >= MOST_WAITING) throw new TooManyRequests(1);
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
