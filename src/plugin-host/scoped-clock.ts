import type { Clock, Timer } from "../lib/clock.ts";

export interface ScopedClock extends Clock {
  /** Cancels pending timers; later ones never fire. */
  close(): void;
}

/** Wraps `clock` for one plugin: exceptions of timer functions go to `onError`, and no timer outlives `close`. */
export function createScopedClock(clock: Clock, onError: (error: unknown) => void): ScopedClock {
  const pending = new Set<Timer>();
  let closed = false;
  const guarded = (fn: () => void): void => {
    if (closed) return;
    try {
      fn();
    } catch (error) {
      onError(error);
    }
  };
  const track = (make: (done: () => void) => Timer): Timer => {
    if (closed) return { cancel: () => {} };
    const inner = make(() => void pending.delete(outer));
    const outer: Timer = {
      cancel() {
        inner.cancel();
        pending.delete(outer);
      },
    };
    pending.add(outer);
    return outer;
  };
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    after(delayMs, fn, options) {
      return track((done) =>
        clock.after(
          delayMs,
          () => {
            done();
            guarded(fn);
          },
          options,
        ),
      );
    },
    every: (periodMs, fn) => track(() => clock.every(periodMs, () => guarded(fn))),
    defer: (fn) => clock.defer(() => guarded(fn)),
    close() {
      closed = true;
      for (const timer of [...pending]) timer.cancel();
    },
  };
}
