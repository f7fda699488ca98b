import type { Clock } from "../lib/clock.ts";
import { runAs } from "../lib/current-work.ts";
import type { Log } from "../lib/log.ts";

/** A part of the daemon. Stopping one that was never started must be harmless. */
export interface DaemonModule {
  name: string;
  start?: (() => unknown) | undefined;
  stop?: (() => unknown) | undefined;
}

/** Modules in the order of their start; those of an inner list start together. */
export type StartOrder = readonly (DaemonModule | readonly DaemonModule[])[];

/** Timeout for all modules together, and so for each of them; leaves room within the promised 5 s. */
const SHUTDOWN_TIMEOUT_MS = 4_000;

/** Starts modules in order, each under its own name in reports of long turns, and waits for each. Rejects with the first error. */
export async function startInOrder(order: StartOrder): Promise<void> {
  for (const each of order)
    await Promise.all([each].flat().map(({ name, start }) => start && runAs(name, async () => void (await start()))));
}

/**
 * Stops modules in reverse order of their start. A failure is logged; a module that does not stop in time is abandoned and the
 * others are stopped nevertheless. Never rejects.
 */
export async function stopInReverse(modules: DaemonModule[], clock: Clock, log: Log): Promise<void> {
  const until = clock.monotonicMs() + SHUTDOWN_TIMEOUT_MS;
  for (const { name, stop } of modules.splice(0).reverse()) {
    const remainingMs = Math.max(0, until - clock.monotonicMs());
    try {
      if (!(await completesWithin(Promise.resolve(stop?.()), remainingMs, clock)))
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
