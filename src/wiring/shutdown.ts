import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";

/** How to stop one part of the daemon. */
export interface ShutdownStep {
  name: string;
  stop: () => unknown;
}

/** Timeout for all parts together, and so for each of them; leaves room within the promised 5 s. */
const SHUTDOWN_TIMEOUT_MS = 4_000;

/**
 * Stops parts in reverse order of their start. A failure is logged; a part that does not stop in time is abandoned and the
 * others are stopped nevertheless. Never rejects.
 */
export async function stopInReverse(steps: ShutdownStep[], clock: Clock, log: Log): Promise<void> {
  const until = clock.monotonicMs() + SHUTDOWN_TIMEOUT_MS;
  for (const { name, stop } of steps.splice(0).reverse()) {
    const remainingMs = Math.max(0, until - clock.monotonicMs());
    try {
      if (!(await completesWithin(Promise.resolve(stop()), remainingMs, clock)))
        log.error({ event: "shutdown.timed_out", part: name }, "component timed out while stopping");
    } catch (error) {
      log.error({ event: "shutdown.failed", err: error, part: name }, "component failed to stop cleanly");
    }
  }
}

function completesWithin(work: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => resolve(false));
    work.then(() => resolve(true), reject).finally(() => timer.cancel());
  });
}
