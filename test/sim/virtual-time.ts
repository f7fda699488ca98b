import type { Clock, Timer } from "../../src/lib/clock.ts";

/** The one line of time of a simulation, in true ms. */
export interface VirtualTime {
  now(): number;
  at(time: number, fn: () => void): Timer;
  in(delayMs: number, fn: () => void): Timer;
  /** Runs what is due up to `until`, each followed by all that it set off. */
  run(until: number): Promise<void>;
  /** Stands still until the function that is returned is called: something real is under way. */
  hold(): () => void;
  /** How many things were run. */
  readonly ran: number;
}

interface Entry {
  time: number;
  order: number;
  fn: () => void;
  live: boolean;
}

/** A process's idea of time: `skewMs` off the truth, and gaining `drift` of a second each second. */
export interface ClockFault {
  skewMs: number;
  drift: number;
}

/** When every simulation begins. */
const START = Date.parse("2026-01-12T08:00:00.000Z");

/** Makes the line of time. */
export function createVirtualTime(): VirtualTime {
  const heap: Entry[] = [];
  let now = START;
  let made = 0;
  let ran = 0;
  let held = 0;
  let goOn = (): void => undefined;

  const isBefore = (a: Entry, b: Entry): boolean => a.time < b.time || (a.time === b.time && a.order < b.order);
  const swap = (a: number, b: number): void => {
    [heap[a], heap[b]] = [heap[b] as Entry, heap[a] as Entry];
  };
  function push(entry: Entry): void {
    heap.push(entry);
    for (let at = heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!isBefore(heap[at] as Entry, heap[parent] as Entry)) break;
      swap(at, parent);
      at = parent;
    }
  }
  function pop(): Entry | undefined {
    const top = heap[0];
    const last = heap.pop();
    if (!top || !last || heap.length === 0) return top;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let first = at;
      for (const child of [left, right]) {
        const entry = heap[child];
        if (entry && isBefore(entry, heap[first] as Entry)) first = child;
      }
      if (first === at) return top;
      swap(at, first);
      at = first;
    }
  }

  /** What was set off by promises, all of which is done before the next tick, happens at the same moment. */
  async function settle(): Promise<void> {
    await new Promise(process.nextTick);
    while (held > 0) {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      await new Promise(process.nextTick);
    }
  }

  const at = (time: number, fn: () => void): Timer => {
    const entry = { time: Math.max(time, now), order: made++, fn, live: true };
    push(entry);
    return {
      cancel() {
        entry.live = false;
      },
    };
  };

  return {
    now: () => now,
    at,
    in: (delayMs, fn) => at(now + delayMs, fn),
    hold() {
      held += 1;
      let isOver = false;
      return () => {
        if (!isOver) held -= 1;
        isOver = true;
        if (held === 0) goOn();
      };
    },
    async run(until) {
      if (held > 0) await settle();
      for (let next = heap[0]; next && next.time <= until; next = heap[0]) {
        pop();
        if (!next.live) continue;
        now = next.time;
        ran += 1;
        next.fn();
        await settle();
      }
      now = Math.max(now, until);
    },
    get ran() {
      return ran;
    },
  };
}

/** The clock of one life of a process; after `isAlive` says no, nothing is called any more. */
export function clockOf(time: VirtualTime, { skewMs, drift }: ClockFault, isAlive: () => boolean): Clock {
  const born = time.now();
  const rate = 1 + drift;
  const after = (delayMs: number, fn: () => void): Timer =>
    time.in(Math.max(0, delayMs) / rate, () => isAlive() && fn());
  return {
    now: () => Math.round(time.now() + skewMs + drift * (time.now() - START)),
    monotonicMs: () => (time.now() - born) * rate,
    after: (delayMs, fn) => after(delayMs, fn),
    every(periodMs, fn) {
      let timer = after(periodMs, again);
      function again(): void {
        timer = after(periodMs, again);
        fn();
      }
      return { cancel: () => timer.cancel() };
    },
    defer: (fn) => void after(0, fn),
  };
}
