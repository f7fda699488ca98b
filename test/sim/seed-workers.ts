import { Worker } from "node:worker_threads";
import { workerEntry } from "../../src/lib/worker-entry.ts";
import { emptyStatistics, type RunStatistics } from "./run-statistics.ts";

/** Where a run lies: in memory, on files, or with the cloud's rows in the PostgreSQL at that address. */
export type StorageBackend = "memory" | "sqlite" | { postgres: string };

/** One seed to run. `planted` is a module with a bug in it, in whose place the product's own stands when it is null. */
export interface SeedTask {
  seed: number;
  steps: number;
  place: StorageBackend;
  planted: string | null;
}

/** What came of it. */
export interface SeedResult {
  figures: RunStatistics;
  violation: string | null;
}

/** Threads that run seeds side by side. */
export interface SeedWorkerPool {
  /** What came of each task, in their order, until `take` says that no more is wanted. */
  inOrder(tasks: Iterable<SeedTask>, take: (task: SeedTask, came: SeedResult) => boolean): Promise<void>;
  close(): Promise<void>;
}

interface SeedWorker {
  worker: Worker;
  done: ((came: SeedResult) => void) | null;
}

/** A seed takes a few seconds; one that takes this long loops for ever. */
const SEED_TIMEOUT_MS = 600_000;

/** Makes as many threads. */
export function createSeedWorkerPool(size: number): SeedWorkerPool {
  const waiting: { task: SeedTask; done: (came: SeedResult) => void }[] = [];
  const hands = Array.from({ length: size }, startWorker);

  function startWorker(): SeedWorker {
    const hand: SeedWorker = { worker: new Worker(workerEntry(import.meta.url, "./seed-worker")), done: null };
    hand.worker.on("message", (came: SeedResult) => hand.done?.(came));
    hand.worker.on("error", (error) => hand.done?.({ figures: emptyStatistics(), violation: String(error) }));
    return hand;
  }

  function assignNext(): void {
    const at = hands.findIndex(({ done }) => done === null);
    const job = at === -1 ? undefined : waiting.shift();
    if (!job) return;
    const hand = hands[at] as SeedWorker;
    const timer = setTimeout(() => {
      void hand.worker.terminate();
      hands[at] = startWorker();
      job.done({ figures: emptyStatistics(), violation: "It stands still." });
      assignNext();
    }, SEED_TIMEOUT_MS);
    timer.unref();
    hand.done = (came) => {
      clearTimeout(timer);
      hand.done = null;
      job.done(came);
      assignNext();
    };
    hand.worker.postMessage(job.task);
  }

  return {
    async inOrder(tasks, take) {
      const from = tasks[Symbol.iterator]();
      const begun: { task: SeedTask; came: Promise<SeedResult> }[] = [];
      const begin = (): void => {
        const { value: task, done: isLast } = from.next();
        if (isLast) return;
        begun.push({ task, came: new Promise((done) => waiting.push({ task, done })) });
        assignNext();
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
