import type { Clock, Timer } from "../lib/clock.ts";
import { PACKET_MS } from "./rtp.ts";

/** Something that is done every 20 ms: `tick` is called for n = 0, 1, 2 … until it says false. */
export interface PacedTask {
  /** `lateMs` is how long after its moment the call comes; false ends the task. */
  tick(n: number, lateMs: number): boolean;
}

/** Calls tasks at t0 + n x 20 ms of the monotonic clock; what is late is caught up at once and shifts nothing after it. */
export interface Pacer {
  /** Starts `task`, its tick 0 being due at `t0Ms` of the clock's monotonic time, which may be past; one that is running is left alone. */
  start(task: PacedTask, t0Ms: number): void;
  /** Calls `task` no more; one that is not running is left alone. */
  cancel(task: PacedTask): void;
}

/** A tick due within this time is done along with the others, which saves waking up again. */
const TOLERANCE_MS = 0.25;
/** Timers fire up to 2 ms late, so they are set early and the rest is napped. */
const TIMER_ERROR_MS = 2;
const MAX_NAP_MS = TIMER_ERROR_MS + 1;

/**
 * Makes a pacer. `nap` blocks the thread for a few ms with a finer grain than timers have, so the thread must have
 * nothing else to do; between two naps the event loop gets its turn.
 */
export function createPacer(needs: { clock: Clock; nap: (ms: number) => void }): Pacer {
  const { clock, nap } = needs;
  const running = new Map<PacedTask, { t0Ms: number; n: number }>();
  let timer: Timer | null = null;
  /** Invalidates wake-ups that are already on their way. */
  let generation = 0;

  const dueAt = (state: { t0Ms: number; n: number }): number => state.t0Ms + state.n * PACKET_MS;

  const untilNextMs = (): number => {
    let next = Number.POSITIVE_INFINITY;
    for (const state of running.values()) next = Math.min(next, dueAt(state));
    return next - clock.monotonicMs();
  };

  const arm = (): void => {
    timer?.cancel();
    timer = null;
    const mine = ++generation;
    if (running.size === 0) return;
    const waitMs = untilNextMs();
    const wake = (): void => {
      if (mine === generation) wakeUp();
    };
    if (waitMs > MAX_NAP_MS) timer = clock.after(Math.floor(waitMs) - TIMER_ERROR_MS, wake);
    else clock.defer(wake);
  };

  const wakeUp = (): void => {
    const waitMs = untilNextMs();
    if (waitMs <= MAX_NAP_MS) {
      if (waitMs > TOLERANCE_MS) nap(waitMs);
      runDue();
    }
    arm();
  };

  const runDue = (): void => {
    const nowMs = clock.monotonicMs();
    for (const [task, state] of running) {
      while (dueAt(state) <= nowMs + TOLERANCE_MS) {
        const lateMs = Math.max(0, nowMs - dueAt(state));
        if (task.tick(state.n++, lateMs)) continue;
        running.delete(task);
        break;
      }
    }
  };

  return {
    start(task, t0Ms) {
      if (running.has(task)) return;
      running.set(task, { t0Ms, n: 0 });
      arm();
    },
    cancel(task) {
      running.delete(task);
    },
  };
}
