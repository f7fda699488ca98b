import { readFileSync, writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../lib/clock.ts";
import { silentLog } from "../lib/log.ts";
import { createHangDetector, parseThreadStat } from "./hang-detector.ts";
import { createSystemdNotifier } from "./systemd-notifier.ts";
import { SHARED, type WatchdogThreadData } from "./watchdog-memory.ts";

const { shared, timeoutMs, works } = workerData as WatchdogThreadData;
/** Looks per timeout: one that comes late must not use it up. */
const LOOKS = 4;

const notify = createSystemdNotifier(process.env, silentLog);
const detector = createHangDetector(systemClock);
let wasHung = false;

parentPort?.on("message", (work: string) => works.push(work));

setInterval(() => {
  const hung = detector.look(Atomics.load(shared, SHARED.BEAT), mainThread());
  if (hung !== null && !wasHung) {
    const work = works[Atomics.load(shared, SHARED.WORK)] ?? "other";
    // The log of the daemon hangs with it.
    const line = { level: 60, time: Date.now(), event: "watchdog.hung", work, ...hung, msg: "the event loop hangs" };
    writeSync(2, `${JSON.stringify(line)}\n`);
  }
  wasHung = hung !== null;
  if (hung === null && Atomics.load(shared, SHARED.IS_STUCK) === 0) notify?.("WATCHDOG=1");
}, timeoutMs / LOOKS);

/** The main thread has the id of the process. @source proc_pid_stat(5) */
function mainThread(): ReturnType<typeof parseThreadStat> {
  try {
    return parseThreadStat(readFileSync(`/proc/self/task/${process.pid}/stat`, "utf8"));
  } catch {
    return null;
  }
}
