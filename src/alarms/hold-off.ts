import type { AlarmStatus } from "../resources/alarms/alarm-types.ts";
import type { AlarmEventScenario } from "./alarm-event-hooks.ts";

/** An observed problem; `code` identifies it, the text of `reason` may change over time. */
export interface ObservedReason {
  code: string;
  reason: string;
  scenario?: AlarmEventScenario | null;
  /** Raised at once, without hold-off: a fact rather than a state that may pass. */
  certain?: boolean;
}

/** One tracked reason. Times are epoch ms. */
export interface TrackedReason {
  readonly code: string;
  readonly reason: string;
  readonly scenario: AlarmEventScenario | null;
  readonly firstSeen: number;
  readonly lastSeen: number;
  /** True if the reason is raised: the alarm is active because of it. */
  readonly on: boolean;
}

/** Tracked reasons of one alarm at one appliance; the condition is active while one of them is raised. */
export type AlarmCondition = ReadonlyMap<string, TrackedReason>;

/** Debounce: how long a problem must last to be raised, and be absent to be cleared. */
export interface HoldOff {
  raiseMs: number;
  clearMs: number;
}

/** An alarm is raised within a minute of the fault and cleared after a minute without it. @source docs/decisions/0013-other-resources.md, Alarms */
export const DEFAULT_HOLD_OFF: HoldOff = { raiseMs: 10_000, clearMs: 60_000 };

export interface ConditionEvaluation {
  condition: AlarmCondition;
  /** The new status; null if it does not change. */
  newStatus: AlarmStatus | null;
  /** Newly raised reasons. */
  raised: readonly TrackedReason[];
  /** Newly cleared reasons. */
  cleared: readonly TrackedReason[];
}

/**
 * Debounces one condition: a reason is raised once it was observed for `raiseMs` without being absent for `clearMs`, and
 * cleared once it was absent for `clearMs`. So a flapping fault is raised once and cleared once.
 */
export function evaluateCondition(
  condition: AlarmCondition,
  seen: readonly ObservedReason[],
  now: number,
  hold: HoldOff = DEFAULT_HOLD_OFF,
): ConditionEvaluation {
  const next = new Map<string, TrackedReason>();
  const began: TrackedReason[] = [];
  const cleared: TrackedReason[] = [];
  for (const { code, reason, scenario = null, certain = false } of seen) {
    const before = condition.get(code);
    const firstSeen = before?.firstSeen ?? now;
    const on = before?.on === true || certain || now - firstSeen >= hold.raiseMs;
    const track = { code, reason, scenario, firstSeen, lastSeen: now, on };
    next.set(code, track);
    if (on && !before?.on) began.push(track);
  }
  for (const track of condition.values()) {
    if (next.has(track.code)) continue;
    if (now - track.lastSeen < hold.clearMs) next.set(track.code, track);
    else if (track.on) cleared.push(track);
  }
  const was = isConditionActive(condition);
  const is = isConditionActive(next);
  return { condition: next, newStatus: was === is ? null : is ? "ACTIVE" : "OK", raised: began, cleared };
}

/** Clears all reasons. */
export function clearCondition(condition: AlarmCondition): ConditionEvaluation {
  const cleared = [...condition.values()].filter(({ on }) => on);
  return { condition: new Map(), newStatus: cleared.length > 0 ? "OK" : null, raised: [], cleared };
}

export function isConditionActive(condition: AlarmCondition): boolean {
  return [...condition.values()].some(({ on }) => on);
}
