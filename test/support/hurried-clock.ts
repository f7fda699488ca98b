import { type Clock, systemClock } from "../../src/lib/clock.ts";

/** The clock of the machine, `factor` times as fast: of a daemon on it, hours pass in a minute. */
export function createHurriedClock(factor: number): Clock {
  const [wall, monotonic] = [systemClock.now(), systemClock.monotonicMs()];
  const passedMs = (): number => (systemClock.monotonicMs() - monotonic) * factor;
  return {
    ...systemClock,
    now: () => Math.round(wall + passedMs()),
    monotonicMs: passedMs,
    after: (delayMs, work, options) => systemClock.after(delayMs / factor, work, options),
    every: (periodMs, work) => systemClock.every(Math.max(1, periodMs / factor), work),
  };
}
