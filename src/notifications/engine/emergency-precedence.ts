import type { Clock } from "../../lib/clock.ts";
import { within } from "../../lib/waits.ts";

/** Precedence of emergencies: nothing may delay one that is not audible yet. */
export interface EmergencyPrecedence {
  /** Makes others wait for `work`, at most 2 s. */
  holdOthersUntil(work: Promise<unknown>): void;
  /** Resolves once no emergency has precedence, at once when none does. */
  waitForEmergencies(): Promise<void>;
  /** True while an emergency has precedence. */
  isUnderWay(): boolean;
}

/** Maximum wait of other messages for an emergency that is not audible yet. */
const MAX_HOLD_MS = 2_000;

/** Creates it without any precedence; waiting ends when `signal` aborts. */
export function createEmergencyPrecedence(clock: Clock, signal: AbortSignal): EmergencyPrecedence {
  const first = new Set<Promise<unknown>>();
  return {
    holdOthersUntil(work) {
      const wait = within(clock, work, { timeoutMs: MAX_HOLD_MS, signal })
        .catch(() => {})
        .finally(() => first.delete(wait));
      first.add(wait);
    },
    async waitForEmergencies() {
      if (first.size > 0) await Promise.all(first);
    },
    isUnderWay: () => first.size > 0,
  };
}
