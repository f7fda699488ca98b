import type { Worker } from "node:worker_threads";
import type { Clock, Timer } from "./clock.ts";
import { createSemaphore } from "./semaphore.ts";

/** A worker thread that is started by the first request and ended when idle; it handles one request at a time. */
export interface IdleWorker<Request, Response> {
  /** Throws TooManyRequestsError when too many requests wait, else what `endedError` makes. */
  request(input: Request): Promise<Response>;
  /** Ends the thread; pending requests reject. */
  close(): Promise<void>;
}

export interface IdleWorkerOptions {
  clock: Clock;
  spawn(): Worker;
  requestTimeoutMs: number;
  /** The thread ends after this time without requests. */
  idleTimeoutMs: number;
  maxQueued: number;
  /** The error of a request whose thread ended, timed out or was closed. */
  endedError(isClosed: boolean): Error;
}

/**
 * Creates the worker. The next request after an unexpected end starts a new thread. An idle thread does not keep the
 * process alive.
 */
export function createIdleWorker<Request, Response>(options: IdleWorkerOptions): IdleWorker<Request, Response> {
  const { clock, spawn, endedError } = options;
  const runExclusive = createSemaphore(1, options.maxQueued);
  let worker: Worker | null = null;
  let idle: Timer | null = null;
  let isClosed = false;

  async function stopWorker(): Promise<void> {
    idle?.cancel();
    const ending = worker;
    worker = null;
    await ending?.terminate();
  }

  /** The error handler is needed even when idle: an unhandled worker error would end the process. */
  function startWorker(): Worker {
    const started = spawn();
    const forget = (): void => {
      if (worker === started) worker = null;
    };
    return started.on("error", forget).on("exit", forget);
  }

  function send(input: Request): Promise<Response> {
    if (isClosed) throw endedError(true);
    idle?.cancel();
    worker ??= startWorker();
    const to = worker;
    to.ref();
    return new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        timer.cancel();
        to.off("message", onResponse).off("error", onEnd).off("exit", onEnd);
        to.unref();
        settle();
      };
      const onResponse = (response: Response): void => done(() => resolve(response));
      const onEnd = (): void => done(() => reject(endedError(isClosed)));
      const timer = clock.after(options.requestTimeoutMs, () => void to.terminate(), { background: true });
      to.on("message", onResponse).on("error", onEnd).on("exit", onEnd);
      to.postMessage(input);
    });
  }

  return {
    request: (input) =>
      runExclusive(async () => {
        try {
          return await send(input);
        } finally {
          idle?.cancel();
          idle = clock.after(options.idleTimeoutMs, () => void stopWorker(), { background: true });
        }
      }),
    close() {
      isClosed = true;
      return stopWorker();
    },
  };
}
