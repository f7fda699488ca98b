import type { Clock, Timer } from "../../src/lib/clock.ts";

/** Wall time of a new fake clock: a Monday in term, 08:00 UTC. */
export const FAKE_CLOCK_START = Date.parse("2026-01-12T08:00:00.000Z");

/** Real turns of the event loop that `advance` waits: enough for a timer -> write -> commit -> event chain of `soon`s. */
const FLUSH_TURNS = 3;

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /**
   * Moves time forward by `ms`, running the due timers in order of their time (equal times: in order of making), also
   * those made on the way. After each moment at which timers ran, and once at the end, waits three real turns of the
   * event loop, so that promises and `soon` calls settle before time goes on. Await it; one call at a time.
   */
  advance(ms: number): Promise<void>;
  /** The same without any turn in between: for code that uses no promise. */
  advanceSync(ms: number): void;
  /** Sets the wall clock forward or back by `ms`; timers and the monotonic time know nothing of it. */
  stepWallClock(ms: number): void;
  /** How many timers wait (`every` counts as one): 0 shows that everything was cancelled. */
  pendingTimers(): number;
}

interface Entry {
  due: number;
  order: number;
  periodMs: number | null;
  fn: () => void;
  live: boolean;
}

/**
 * Makes a fake clock at `start` (epoch ms); `monotonicMs` starts at 0. `soon` runs in the next real turn of the event
 * loop, without moving time. `background` has no meaning here. What a timer throws comes out of `advance` or `tick`.
 */
export function createFakeClock(start: number = FAKE_CLOCK_START): FakeClock {
  /** In order of running; a cancelled entry stays until its turn. */
  const queue: Entry[] = [];
  let elapsed = 0;
  let stepped = 0;
  let made = 0;

  const enqueue = (entry: Entry): void => {
    let low = 0;
    let high = queue.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comesFirst(queue[middle], entry)) low = middle + 1;
      else high = middle;
    }
    queue.splice(low, 0, entry);
  };

  const add = (delayMs: number, periodMs: number | null, fn: () => void): Timer => {
    const entry = { due: elapsed + Math.max(0, delayMs), order: made++, periodMs, fn, live: true };
    enqueue(entry);
    return {
      cancel: () => {
        entry.live = false;
      },
    };
  };

  /** Takes the next live entry due by `end` from the queue, null when there is none. */
  const takeUntil = (end: number): Entry | null => {
    for (let entry = queue[0]; entry && (!entry.live || entry.due <= end); entry = queue[0]) {
      queue.shift();
      if (entry.live) return entry;
    }
    return null;
  };

  const run = (entry: Entry): void => {
    elapsed = Math.max(elapsed, entry.due);
    if (entry.periodMs === null) entry.live = false;
    else enqueue(Object.assign(entry, { due: entry.due + entry.periodMs, order: made++ }));
    entry.fn();
  };

  return {
    now: () => start + elapsed + stepped,
    monotonicMs: () => elapsed,
    after: (delayMs, fn) => add(delayMs, null, fn),
    every: (periodMs, fn) => add(Math.max(1, periodMs), Math.max(1, periodMs), fn),
    defer: (fn) => void setImmediate(fn),
    stepWallClock(ms) {
      stepped += ms;
    },
    pendingTimers: () => queue.filter((entry) => entry.live).length,
    advanceSync(ms) {
      const end = elapsed + ms;
      for (let entry = takeUntil(end); entry; entry = takeUntil(end)) run(entry);
      elapsed = Math.max(elapsed, end);
    },
    async advance(ms) {
      const end = elapsed + ms;
      for (let first = takeUntil(end); first; first = takeUntil(end)) {
        const moment = first.due;
        for (let entry: Entry | null = first; entry; entry = takeUntil(moment)) run(entry);
        await flushEventLoop();
      }
      elapsed = Math.max(elapsed, end);
      await flushEventLoop();
    },
  };
}

function comesFirst(a: Entry | undefined, b: Entry): boolean {
  return a !== undefined && (a.due < b.due || (a.due === b.due && a.order < b.order));
}

async function flushEventLoop(): Promise<void> {
  for (let turn = 0; turn < FLUSH_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
}
