import type { Clock, Timer } from "../lib/clock.ts";

/** Lets some in at once, the others in their order. */
export interface StartQueue {
  /** Calls `begin` when it is its turn; whoever has begun, or does not want to any more, calls what this gives. */
  enter(begin: () => void): () => void;
}

/** Makes it. Who stays longer than `patienceMs` stands in nobody's way any more. */
export function createStartQueue(clock: Clock, most: number, patienceMs: number): StartQueue {
  const waiting: (() => void)[] = [];
  let inside = 0;

  function next(): void {
    while (inside < most && waiting.length > 0) {
      inside += 1;
      waiting.shift()?.();
    }
  }

  return {
    enter(begin) {
      let patience: Timer | null = null;
      let isDone = false;
      const leave = (): void => {
        if (isDone) return;
        isDone = true;
        patience?.cancel();
        const at = waiting.indexOf(turn);
        if (at >= 0) waiting.splice(at, 1);
        else inside -= 1;
        next();
      };
      const turn = (): void => {
        patience = clock.after(patienceMs, leave, { background: true });
        begin();
      };
      waiting.push(turn);
      // So that nobody begins before they know how to leave.
      clock.defer(next);
      return leave;
    },
  };
}
