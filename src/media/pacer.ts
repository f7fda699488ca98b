import type { Clock, Timer } from "../lib/clock.ts";
import { PACKET_MS } from "./rtp.ts";

/** A task run every 20 ms: `tick` is called with n = 0, 1, 2 … until it returns false. */
export interface PacedTask {
  /** `lateMs` is the delay of the call; return false to end the task. */
  tick(n: number, lateMs: number): boolean;
}

/**
 * Calls tasks at t0 + n x 20 ms of the monotonic clock; a late tick is caught up at once and does not shift the
 * following ones.
 */
export interface Pacer {
  /**
   * Starts `task`; its tick 0 is due at `t0Ms` of monotonic time, which may be in the past. Has no effect on a running
   * task.
   */
  start(task: PacedTask, t0Ms: number): void;
  /** Stops calling `task`; has no effect on one that is not running. */
  cancel(task: PacedTask): void;
}

/** Ticks due within this time run together, which saves a wake-up. */
const TOLERANCE_MS = 0.25;
/** Timers fire up to 2 ms late, so they are set early and the rest is slept with `nap`. */
const TIMER_ERROR_MS = 2;
const MAX_NAP_MS = TIMER_ERROR_MS + 1;

/**
 * Creates a pacer. `nap` blocks the thread for a few ms with a finer resolution than timers, so the thread must have no
 * other work; between two naps the event loop runs.
 */
export function createPacer(deps: { clock: Clock; nap: (ms: number) => void }): Pacer {
  const { clock, nap } = deps;
  const running = new Map<PacedTask, { t0Ms: number; n: number }>();
  let timer: Timer | null = null;
  /** Invalidates wake-ups that are already scheduled. */
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
    const scheduled = ++generation;
    if (running.size === 0) return;
    const waitMs = untilNextMs();
    const wake = (): void => {
      if (scheduled === generation) wakeUp();
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
