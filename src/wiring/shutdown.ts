import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";

/** How one part of the daemon is ended. */
export interface ShutdownStep {
  name: string;
  stop: () => unknown;
}

/** What all parts together may take, and what each may take at most. own choice: leaves room within the promised 5 s. */
const SHUTDOWN_TIMEOUT_MS = 4_000;

/**
 * Ends parts in reverse order of their start. One that fails is logged; one that does not end in time is left behind and
 * the rest ended all the same. Never rejects.
 */
export async function stopInReverse(endings: ShutdownStep[], clock: Clock, log: Log): Promise<void> {
  const until = clock.monotonicMs() + SHUTDOWN_TIMEOUT_MS;
  for (const { name, stop } of endings.splice(0).reverse()) {
    const left = Math.max(0, until - clock.monotonicMs());
    try {
      if (!(await completesWithin(Promise.resolve(stop()), left, clock)))
        log.error({ part: name }, "did not stop in time");
    } catch (error) {
      log.error({ err: error, part: name }, "did not stop well");
    }
  }
}

function completesWithin(work: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => resolve(false));
    work.then(() => resolve(true), reject).finally(() => timer.cancel());
  });
}
