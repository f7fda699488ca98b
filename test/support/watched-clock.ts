import { type Clock, systemClock } from "../../src/base/clock.ts";

/** The clock of the machine, which notes the processor time (ms) between two turns of the event loop. */
export function watchedClock(): { clock: Clock; stretches: number[] } {
  const stretches: number[] = [];
  let began = process.cpuUsage();
  const soon: Clock["soon"] = (fn) => {
    const { user, system } = process.cpuUsage(began);
    stretches.push((user + system) / 1_000);
    setImmediate(() => {
      began = process.cpuUsage();
      fn();
    });
  };
  return { clock: { ...systemClock, soon }, stretches };
}
