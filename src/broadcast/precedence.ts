import { type Clock, sleep } from "../base/clock.ts";

/** Who goes before others: nothing may delay an emergency that is not heard yet. */
export interface Precedence {
  /** Has others wait for this, at most 2 s. */
  goFirst(work: Promise<unknown>): void;
  /** Resolves once nothing goes first of what does now, at once when nothing does. */
  giveWay(): Promise<void>;
}

/** Longest wait of other messages for an emergency that is not heard yet. own choice */
const WAITED_FOR_MS = 2_000;

/** Makes it, with nothing that goes first; nobody waits any more once `signal` aborts. */
export function createPrecedence(clock: Clock, signal: AbortSignal): Precedence {
  const first = new Set<Promise<unknown>>();
  return {
    goFirst(work) {
      const patience = new AbortController();
      const late = sleep(clock, WAITED_FOR_MS, AbortSignal.any([patience.signal, signal]));
      const wait = Promise.race([work, late])
        .catch(() => {})
        .finally(() => {
          first.delete(wait);
          patience.abort();
        });
      late.catch(() => {});
      first.add(wait);
    },
    async giveWay() {
      if (first.size > 0) await Promise.all(first);
    },
  };
}
