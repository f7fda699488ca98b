import type { Clock } from "../lib/clock.ts";
import type { MissCause } from "./ring-repository.ts";

/** Downtime, or a clock step backward. */
export interface ClockGap {
  /** `forward`: only the wall clock advanced, as on a suspended machine; `stalled`: both clocks advanced. */
  kind: "forward" | "back" | "stalled";
  /** Duration, at least 0. */
  ms: number;
}

/** Result of comparing the clocks since the last check. */
export interface ClockCheck {
  /** Size of the clock step in ms; 0 if the wall clock was not set. */
  stepMs: number;
  /** Why a ring that is found too late was not found in time. */
  cause: MissCause;
  /** Null if time passed normally. */
  gap: ClockGap | null;
}

/** Drift and slewing of the wall clock between two checks stay below this. @source docs/decisions/0200-bell-engine-limits.md, Clock */
const CLOCK_STEP_THRESHOLD_MS = 250;
/** A process that is not blocked checks more often than this. */
const STALL_THRESHOLD_MS = 5_000;

/** Compares the wall clock with the monotonic clock. The first check reports that the process was not running. */
export function createClockMonitor(clock: Clock): () => ClockCheck {
  let last: { wall: number; monotonicMs: number } | null = null;
  return () => {
    const seen = { wall: clock.now(), monotonicMs: clock.monotonicMs() };
    const before = last;
    last = seen;
    if (!before) return { stepMs: 0, cause: "down", gap: null };
    const passed = seen.monotonicMs - before.monotonicMs;
    const drift = seen.wall - before.wall - passed;
    const stepMs = Math.abs(drift) > CLOCK_STEP_THRESHOLD_MS ? drift : 0;
    const isStalled = passed > STALL_THRESHOLD_MS;
    const step: ClockGap = { kind: stepMs > 0 ? "forward" : "back", ms: Math.abs(stepMs) };
    const gap = stepMs !== 0 ? step : isStalled ? ({ kind: "stalled", ms: passed } as const) : null;
    return { stepMs, cause: stepMs > 0 ? "clock" : isStalled ? "stalled" : "overload", gap };
  };
}
