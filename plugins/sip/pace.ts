import type { Clock } from "#plugin-api";

/** Starts things one after another, the most urgent first, at most so many in a second. */
export interface Pace {
  /** `priority` is 0 (most urgent) to 9. */
  add(priority: number, start: () => void): void;
}

const PRIORITIES = 10;
const TICK_MS = 10;

/** Makes a pace that starts the first at once. */
export function createPace(clock: Clock, perSecond: number): Pace {
  const lanes: (() => void)[][] = Array.from({ length: PRIORITIES }, () => []);
  /** What may be started, some at once but never what was saved up for long. */
  const most = Math.max(1, (perSecond * TICK_MS * 2) / 1_000);
  let may = most;
  let at = clock.monotonicMs();
  let isTicking = false;

  const work = (): void => {
    isTicking = false;
    const now = clock.monotonicMs();
    may = Math.min(most, may + ((now - at) * perSecond) / 1_000);
    at = now;
    for (let lane = lanes.find(({ length }) => length > 0); lane; lane = lanes.find(({ length }) => length > 0)) {
      if (may < 1) {
        isTicking = true;
        clock.after(TICK_MS, work);
        return;
      }
      may--;
      lane.shift()?.();
    }
  };

  return {
    add(priority, start) {
      lanes[Math.min(PRIORITIES - 1, Math.max(0, priority))]?.push(start);
      if (!isTicking) work();
    },
  };
}
