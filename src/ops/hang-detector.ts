import type { Clock } from "../lib/clock.ts";

/** State of a thread: `R` is running or waits for a processor, `D` waits for a disk, `S` waits for something else. */
export interface ThreadState {
  state: string;
  /** Processor time so far, ms. */
  cpuMs: number;
}

/** A loop that hangs: since when, and how much processor time it has used since. */
export interface Hang {
  ms: number;
  cpuMs: number | null;
}

/** Clock ticks of /proc; 100 per second on all Linux architectures that Node supports. @source sysconf(3), _SC_CLK_TCK */
const TICK_MS = 10;
/** @source docs/decisions/0416-watchdog-thread.md */
const HANG_MS = 4_000;
/** A slow disk may take this long for one write. */
const DISK_MS = 15_000;
/** A loop that gets no processor for so long cannot do its work either. */
const STARVED_MS = 60_000;

/** `state` and processor time from the text of /proc/PID/task/TID/stat; null if it has another form. @source proc_pid_stat(5) */
export function parseThreadStat(text: string): ThreadState | null {
  // The name, in parentheses, may contain blanks and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, user, system] = [fields[0], Number(fields[11]), Number(fields[12])];
  if (!state || !Number.isInteger(user) || !Number.isInteger(system)) return null;
  return { state, cpuMs: (user + system) * TICK_MS };
}

/**
 * Decides whether the event loop hangs, from a counter that it advances and the state of its thread. A loop that only gets
 * no processor time does not hang: a restart would add to the load.
 */
export function createHangDetector(clock: Pick<Clock, "monotonicMs">) {
  let lastBeat: number | null = null;
  let beatAt = 0;
  let lookAt = 0;
  let cpuAtBeat = 0;
  return {
    /** The hang, or null. `thread`: null where the state of threads is unknown. */
    look(beat: number, thread: ThreadState | null): Hang | null {
      const now = clock.monotonicMs();
      // After a pause of the whole process, such as that of a virtual machine, the loop gets its time again.
      const wasPaused = now - lookAt > HANG_MS;
      lookAt = now;
      if (beat !== lastBeat || wasPaused) {
        lastBeat = beat;
        beatAt = now;
        cpuAtBeat = thread?.cpuMs ?? 0;
        return null;
      }
      const ms = now - beatAt;
      const usedMs = thread && thread.cpuMs - cpuAtBeat;
      return ms > limitOf(thread, usedMs) ? { ms: Math.round(ms), cpuMs: usedMs } : null;
    },
  };
}

function limitOf(thread: ThreadState | null, usedMs: number | null): number {
  if (thread?.state === "D") return DISK_MS;
  const isStarved = thread?.state === "R" && (usedMs ?? 0) < HANG_MS;
  return isStarved ? STARVED_MS : HANG_MS;
}
