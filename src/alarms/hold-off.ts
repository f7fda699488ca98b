import type { AlarmStatus } from "../resources/alarms/alarm-types.ts";
import type { AlarmEventScenario } from "./alarm-event-hooks.ts";

/** Something wrong that was seen; `code` says what it is, the words of `reason` may change meanwhile. */
export interface ObservedReason {
  code: string;
  reason: string;
  scenario?: AlarmEventScenario | null;
  /** It is a fact, not a state that may pass by itself: no waiting. */
  certain?: boolean;
}

/** One reason as it is followed. Times are epoch ms. */
export interface TrackedReason {
  readonly code: string;
  readonly reason: string;
  readonly scenario: AlarmEventScenario | null;
  readonly firstSeen: number;
  readonly lastSeen: number;
  /** It counts: the alarm is active because of it. */
  readonly on: boolean;
}

/** What is followed of one alarm at one appliance; active while one of the reasons counts. */
export type AlarmCondition = ReadonlyMap<string, TrackedReason>;

/** How long something must last to count, and be gone to be over, however it comes and goes in between. */
export interface HoldOff {
  raiseMs: number;
  clearMs: number;
}

/** own choice: a minute from the fault to the alarm is promised; what is gone for a minute is over. @source decisions.md 13 */
export const DEFAULT_HOLD_OFF: HoldOff = { raiseMs: 10_000, clearMs: 60_000 };

/** What a look brought. */
export interface ConditionEvaluation {
  condition: AlarmCondition;
  /** The status that is entered; null when it stays as it is. */
  newStatus: AlarmStatus | null;
  /** Reasons that count from now on. */
  raised: readonly TrackedReason[];
  /** Reasons that counted and are over. */
  cleared: readonly TrackedReason[];
}

/**
 * Follows one fault: a reason counts once it was seen over `raiseMs` without having been gone for `clearMs`, and is over
 * once it was gone for `clearMs`. So a fault that flaps, however fast, is raised once and is over once.
 */
export function evaluateCondition(
  fault: AlarmCondition,
  seen: readonly ObservedReason[],
  now: number,
  hold: HoldOff = DEFAULT_HOLD_OFF,
): ConditionEvaluation {
  const next = new Map<string, TrackedReason>();
  const began: TrackedReason[] = [];
  const cleared: TrackedReason[] = [];
  for (const { code, reason, scenario = null, certain = false } of seen) {
    const before = fault.get(code);
    const firstSeen = before?.firstSeen ?? now;
    const on = before?.on === true || certain || now - firstSeen >= hold.raiseMs;
    const track = { code, reason, scenario, firstSeen, lastSeen: now, on };
    next.set(code, track);
    if (on && !before?.on) began.push(track);
  }
  for (const track of fault.values()) {
    if (next.has(track.code)) continue;
    if (now - track.lastSeen < hold.clearMs) next.set(track.code, track);
    else if (track.on) cleared.push(track);
  }
  const was = isConditionActive(fault);
  const is = isConditionActive(next);
  return { condition: next, newStatus: was === is ? null : is ? "ACTIVE" : "OK", raised: began, cleared };
}

/** Ends all at once. */
export function clearCondition(fault: AlarmCondition): ConditionEvaluation {
  const cleared = [...fault.values()].filter(({ on }) => on);
  return { condition: new Map(), newStatus: cleared.length > 0 ? "OK" : null, raised: [], cleared };
}

/** True while a reason counts. */
export function isConditionActive(fault: AlarmCondition): boolean {
  return [...fault.values()].some(({ on }) => on);
}
