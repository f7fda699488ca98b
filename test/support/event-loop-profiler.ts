import { openSync, readSync } from "node:fs";
import { type Clock, systemClock } from "../../src/lib/clock.ts";

/**
 * The clock of the machine, which notes the processor time (ms) that the main thread took between two turns of its loop,
 * whatever other threads and processes did meanwhile.
 */
export function createProfilingClock(): { clock: Clock; stretches: number[] } {
  const stretches: number[] = [];
  const usedMs = mainThreadTime();
  let began = usedMs();
  const defer: Clock["defer"] = (fn) => {
    stretches.push(usedMs() - began);
    setImmediate(() => {
      began = usedMs();
      fn();
    });
  };
  return { clock: { ...systemClock, defer }, stretches };
}

/** The kernel says what a thread has used; the first one of a process has its id. @source proc(5), schedstat */
function mainThreadTime(): () => number {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  const text = Buffer.alloc(80);
  return () => Number(text.toString("latin1", 0, readSync(file, text, 0, 80, 0)).split(" ")[0]) / 1e6;
}
