import { markWork } from "./current-work.ts";

/** A pending timer; `cancel()` may be called at any time and any number of times. */
export interface Timer {
  cancel(): void;
}

/**
 * The only source of time inside Carillon; injected everywhere so that tests and simulations control it. `now()` is
 * wall time in epoch ms; `monotonicMs()` never steps and has sub-millisecond digits.
 */
export interface Clock {
  now(): number;
  monotonicMs(): number;
  /** Calls `fn` once after `delayMs`; pending timers keep the process alive unless `background` is true. */
  after(delayMs: number, fn: () => void, options?: { background?: boolean }): Timer;
  /** Calls `fn` every `periodMs` until cancelled; never keeps the process alive. */
  every(periodMs: number, fn: () => void): Timer;
  /** Calls `fn` in a later turn of the event loop, after pending I/O. */
  defer(fn: () => void): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  after(delayMs, fn, options) {
    const timer = setTimeout(() => runMarked(fn), delayMs);
    if (options?.background) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  every(periodMs, fn) {
    const timer = setInterval(() => runMarked(fn), periodMs);
    timer.unref();
    return { cancel: () => clearInterval(timer) };
  },
  defer: (fn) => void setImmediate(() => runMarked(fn)),
};

function runMarked(fn: () => void): void {
  markWork();
  fn();
}

/** Resolves in a later turn of the event loop, so that long work does not block other work. */
export function yieldToEventLoop(clock: Pick<Clock, "defer">): Promise<void> {
  return new Promise((resolve) => clock.defer(resolve));
}

/**
 * As `yieldToEventLoop` for work that many do at the same time, such as requests: each turn of the event loop continues
 * only one of them. Otherwise a turn would take as many chunks of work as there are callers.
 */
export function createTurnQueue(clock: Pick<Clock, "defer">): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(() => yieldToEventLoop(clock));
    return last;
  };
}

/** Resolves after `delayMs` of `clock` time, or rejects with the signal's reason as soon as `signal` aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
