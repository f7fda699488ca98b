import { type Clock, systemClock } from "../../src/lib/clock.ts";

/** A clock on which what is waited for has passed at once. */
export function createFastClock(): Clock {
  let now = 0;
  return {
    ...systemClock,
    monotonicMs: () => now,
    after(ms, work) {
      now += ms;
      setImmediate(work);
      return { cancel: () => undefined };
    },
  };
}
