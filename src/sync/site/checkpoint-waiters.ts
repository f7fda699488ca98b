import type { Clock, Timer } from "../../lib/clock.ts";

/** Those who wait until rows of the cloud are here. */
export interface CheckpointWaiters {
  /** Resolves once rows up to `head` are applied, or people would wait too long; at once where `applied` is there already. */
  waitFor(head: number, applied: number): Promise<void>;
  reached(applied: number): void;
}

/** own choice: whoever changed something sees it at once, or a moment later */
const MAX_WAIT_MS = 2_000;

/** Makes it. */
export function createCheckpointWaiters(clock: Pick<Clock, "after">): CheckpointWaiters {
  const waits = new Set<{ head: number; over(): void; timer: Timer }>();
  return {
    waitFor(head, applied) {
      if (applied >= head) return Promise.resolve();
      return new Promise((resolve) => {
        const over = (): void => {
          wait.timer.cancel();
          waits.delete(wait);
          resolve();
        };
        const wait = { head, over, timer: clock.after(MAX_WAIT_MS, () => over(), { background: true }) };
        waits.add(wait);
      });
    },
    reached(applied) {
      for (const { head, over } of [...waits]) if (applied >= head) over();
    },
  };
}
