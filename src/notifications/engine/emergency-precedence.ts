import { type Clock, sleep } from "../../lib/clock.ts";

/** Who goes before others: nothing may delay an emergency that is not heard yet. */
export interface EmergencyPrecedence {
  /** Has others wait for this, at most 2 s. */
  holdOthersUntil(work: Promise<unknown>): void;
  /** Resolves once nothing goes first of what does now, at once when nothing does. */
  waitForEmergencies(): Promise<void>;
}

/** Longest wait of other messages for an emergency that is not heard yet. own choice */
const MAX_HOLD_MS = 2_000;

/** Makes it, with nothing that goes first; nobody waits any more once `signal` aborts. */
export function createEmergencyPrecedence(clock: Clock, signal: AbortSignal): EmergencyPrecedence {
  const first = new Set<Promise<unknown>>();
  return {
    holdOthersUntil(work) {
      const patience = new AbortController();
      const late = sleep(clock, MAX_HOLD_MS, AbortSignal.any([patience.signal, signal]));
      const wait = Promise.race([work, late])
        .catch(() => {})
        .finally(() => {
          first.delete(wait);
          patience.abort();
        });
      late.catch(() => {});
      first.add(wait);
    },
    async waitForEmergencies() {
      if (first.size > 0) await Promise.all(first);
    },
  };
}
