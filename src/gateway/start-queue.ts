import type { Clock, Timer } from "../lib/clock.ts";

/** Limits how many starts run at the same time; further ones wait in order. */
export interface StartQueue {
  /** Calls `begin` once a slot is free. Call the returned function when the start is done or no longer wanted. */
  enter(begin: () => void): () => void;
}

/** A start that takes longer than `slotTimeoutMs` gives up its slot. */
export function createStartQueue(clock: Clock, maxConcurrent: number, slotTimeoutMs: number): StartQueue {
  const queued: (() => void)[] = [];
  let running = 0;

  function next(): void {
    while (running < maxConcurrent && queued.length > 0) {
      running += 1;
      queued.shift()?.();
    }
  }

  return {
    enter(begin) {
      let timeout: Timer | null = null;
      let isDone = false;
      const leave = (): void => {
        if (isDone) return;
        isDone = true;
        timeout?.cancel();
        const index = queued.indexOf(start);
        if (index >= 0) queued.splice(index, 1);
        else running -= 1;
        next();
      };
      const start = (): void => {
        timeout = clock.after(slotTimeoutMs, leave, { background: true });
        begin();
      };
      queued.push(start);
      // Deferred, so that callers hold the `leave` function before `begin` runs.
      clock.defer(next);
      return leave;
    },
  };
}
