import { setTimeout as pause } from "node:timers/promises";
import type { FakeClock } from "./fake-clock.ts";

/** How much faster than real time a fake one may pass beside sockets, which take their own. */
const SPEEDUP = 10;

/** Lets time pass, in steps, until something is so: ten times as fast as it does, so that no limit runs out before what is on its way. */
export async function advanceUntil(clock: FakeClock, isSo: () => boolean, stepMs = SPEEDUP): Promise<void> {
  while (!isSo()) {
    await clock.advance(stepMs);
    await pause(stepMs / SPEEDUP);
  }
}
