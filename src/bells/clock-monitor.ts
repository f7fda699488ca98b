import type { Clock } from "../lib/clock.ts";
import type { MissCause } from "./ring-repository.ts";

/** Time that went on without the appliance, or a clock that went back. */
export interface ClockGap {
  /** `forward`: the wall clock alone went on, as it does on a machine that was suspended; `stalled`: both did. */
  kind: "forward" | "back" | "stalled";
  /** How long, at least 0. */
  ms: number;
}

/** What became of time since the last look. */
export interface ClockCheck {
  /** By how much the wall clock was set, in ms; 0 unless it was. */
  stepMs: number;
  /** Why a ring that is found too late now was not found in time. */
  cause: MissCause;
  /** Null where nothing was out of the ordinary. */
  gap: ClockGap | null;
}

/** The wall clock drifts or is slewed by less than this between two looks. own choice */
const CLOCK_STEP_THRESHOLD_MS = 250;
/** A process that nothing holds up looks more often than this. */
const STALL_THRESHOLD_MS = 5_000;

/** Compares the wall clock with the one that is never set. The first look finds that the appliance was not running. */
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
