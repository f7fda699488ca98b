import type { Clock, Timer } from "../../lib/clock.ts";

/** Waits until rows of the cloud are applied locally. */
export interface CheckpointWaiters {
  /** Resolves once rows up to `head` are applied or the wait times out; immediately if `applied` has reached it. */
  waitFor(head: number, applied: number): Promise<void>;
  reached(applied: number): void;
}

/** @source docs/decisions/0300-sync-limits.md */
const MAX_WAIT_MS = 2_000;

export function createCheckpointWaiters(clock: Pick<Clock, "after">): CheckpointWaiters {
  const waits = new Set<{ head: number; finish(): void; timer: Timer }>();
  return {
    waitFor(head, applied) {
      if (applied >= head) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = (): void => {
          wait.timer.cancel();
          waits.delete(wait);
          resolve();
        };
        const wait = { head, finish, timer: clock.after(MAX_WAIT_MS, () => finish(), { background: true }) };
        waits.add(wait);
      });
    },
    reached(applied) {
      for (const { head, finish } of [...waits]) if (applied >= head) finish();
    },
  };
}
