import { type Clock, sleep } from "./clock.ts";

/** Waits for `promise`, or rejects with the signal's reason as soon as that aborts. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Resolves after `delayMs`, or as soon as `signal` aborts; never rejects. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return sleep(clock, delayMs, signal).catch(() => undefined);
}

/** Limits of a wait. */
export interface WaitLimits {
  timeoutMs: number;
  signal?: AbortSignal;
}

/** The result of `promise` as `value`; null after the timeout or when the signal aborts. Rejects if `promise` does. */
export async function within<T>(
  clock: Clock,
  promise: Promise<T>,
  { timeoutMs, signal }: WaitLimits,
): Promise<{ value: T } | null> {
  const settled = new AbortController();
  const late = pause(clock, timeoutMs, signal ? AbortSignal.any([settled.signal, signal]) : settled.signal);
  try {
    return await Promise.race([promise.then((value) => ({ value })), late.then(() => null)]);
  } finally {
    settled.abort();
  }
}

/** Polls until `poll` returns a value; null after the timeout. Rejects with the signal's reason when that aborts. */
export async function pollUntil<T>(
  clock: Clock,
  poll: () => T | null | Promise<T | null>,
  { timeoutMs, intervalMs, signal }: WaitLimits & { intervalMs: number },
): Promise<T | null> {
  const until = clock.monotonicMs() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const result = await poll();
    if (result !== null || clock.monotonicMs() >= until) return result;
    await sleep(clock, intervalMs, signal);
  }
}
