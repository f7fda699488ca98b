import { Worker } from "node:worker_threads";
import type { Clock, Timer } from "../lib/clock.ts";
import { watchCurrentWork } from "../lib/current-work.ts";
import type { Log } from "../lib/log.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import { SHARED, type WatchdogThreadData } from "./watchdog-memory.ts";

/** Keeps the service manager's watchdog content. */
export interface WatchdogFeed {
  /** False: the main work is stuck although the event loop runs; the service manager shall restart the daemon. */
  allow(isAllowed: boolean): void;
  stop(): void;
}

const BEAT_MS = 100;
/** A thread that has failed is started again after this time, which is shorter than any watchdog timeout. */
const RESTART_MS = 500;
/** Names of work that are sent to the thread. */
const MAX_WORKS = 1_000;

/**
 * Starts the thread that sends WATCHDOG while the event loop turns. Load on the event loop does not
 * delay it, and it ends with the process.
 * @source docs/decisions/0416-watchdog-thread.md
 */
export function startWatchdogThread(timeoutMs: number, { clock, log }: { clock: Clock; log: Log }): WatchdogFeed {
  const shared = new Int32Array(new SharedArrayBuffer(SHARED.LENGTH * Int32Array.BYTES_PER_ELEMENT));
  const works = new Map<string, number>();
  let worker: Worker | null = null;
  let restart: Timer | null = null;
  let isStopped = false;

  function start(): void {
    const workerData: WatchdogThreadData = { shared, timeoutMs, works: [...works.keys()] };
    const thread = new Worker(workerEntry(import.meta.url, "./watchdog-worker"), { workerData, name: "watchdog" });
    worker = thread;
    thread.unref();
    thread.on("error", (error) => log.error({ event: "watchdog.thread_failed", err: error }, "watchdog thread failed"));
    thread.on("exit", () => {
      if (!isStopped) restart = clock.after(RESTART_MS, start, { background: true });
    });
  }

  const beat = clock.every(BEAT_MS, () => void Atomics.add(shared, SHARED.BEAT, 1));
  watchCurrentWork((work) => {
    let index = works.get(work);
    if (index === undefined) {
      if (works.size >= MAX_WORKS) return;
      index = works.size;
      works.set(work, index);
      worker?.postMessage(work);
    }
    Atomics.store(shared, SHARED.WORK, index);
  });
  start();
  return {
    allow: (isAllowed) => void Atomics.store(shared, SHARED.IS_STUCK, isAllowed ? 0 : 1),
    stop() {
      isStopped = true;
      watchCurrentWork(null);
      beat.cancel();
      restart?.cancel();
      void worker?.terminate();
    },
  };
}
