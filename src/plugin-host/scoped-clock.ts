import type { Clock, Timer } from "../lib/clock.ts";

/** A clock whose timers can be cancelled all at once. */
export interface ScopedClock extends Clock {
  /** Cancels what still waits; the clock starts nothing afterwards. */
  close(): void;
}

/** Wraps `clock` for one plugin: what a timer's function throws goes to `onError`, and nothing outlives `close`. */
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
