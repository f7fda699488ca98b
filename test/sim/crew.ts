import { Worker } from "node:worker_threads";
import { workerEntry } from "../../src/base/worker-entry.ts";
import { type Figures, noFigures } from "./figures.ts";

/** Where a run lies: in memory, on files, or with the cloud's rows in the PostgreSQL at that address. */
export type Place = "memory" | "sqlite" | { postgres: string };

/** One seed to run. `planted` is a module with a bug in it, in whose place the product's own stands when it is null. */
export interface Task {
  seed: number;
  steps: number;
  place: Place;
  planted: string | null;
}

/** What came of it. */
export interface Came {
  figures: Figures;
  violation: string | null;
}

/** Threads that run seeds side by side. */
export interface Crew {
  /** What came of each task, in their order, until `take` says that no more is wanted. */
  inOrder(tasks: Iterable<Task>, take: (task: Task, came: Came) => boolean): Promise<void>;
  close(): Promise<void>;
}

interface Hand {
  worker: Worker;
  done: ((came: Came) => void) | null;
}

/** A seed takes a second or some; one that takes so long goes round in circles. own choice */
const STANDS_STILL_MS = 600_000;

/** Makes as many threads. */
export function createCrew(size: number): Crew {
  const waiting: { task: Task; done: (came: Came) => void }[] = [];
  const hands = Array.from({ length: size }, hire);

  function hire(): Hand {
    const hand: Hand = { worker: new Worker(workerEntry(import.meta.url, "./seed-worker")), done: null };
    hand.worker.on("message", (came: Came) => hand.done?.(came));
    hand.worker.on("error", (error) => hand.done?.({ figures: noFigures(), violation: String(error) }));
    return hand;
  }

  function next(): void {
    const at = hands.findIndex(({ done }) => done === null);
    const job = at === -1 ? undefined : waiting.shift();
    if (!job) return;
    const hand = hands[at] as Hand;
    const timer = setTimeout(() => {
      void hand.worker.terminate();
      hands[at] = hire();
      job.done({ figures: noFigures(), violation: "It stands still." });
      next();
    }, STANDS_STILL_MS);
    timer.unref();
    hand.done = (came) => {
      clearTimeout(timer);
      hand.done = null;
      job.done(came);
      next();
    };
    hand.worker.postMessage(job.task);
  }

  return {
    async inOrder(tasks, take) {
      const from = tasks[Symbol.iterator]();
      const begun: { task: Task; came: Promise<Came> }[] = [];
      const begin = (): void => {
        const { value: task, done: isLast } = from.next();
        if (isLast) return;
        begun.push({ task, came: new Promise((done) => waiting.push({ task, done })) });
        next();
      };
      for (let ahead = 0; ahead < 2 * size; ahead += 1) begin();
      for (let first = begun.shift(); first; first = begun.shift()) {
        if (!take(first.task, await first.came)) break;
        begin();
      }
      waiting.length = 0;
    },
    async close() {
      await Promise.all(hands.map(({ worker }) => worker.terminate()));
    },
  };
}
