import type { AlarmStatus } from "../resources/alarms/alarm-types.ts";
import type { AboutScenario } from "./event-behaviour.ts";

/** Something wrong that was seen; `code` says what it is, the words of `reason` may change meanwhile. */
export interface Sighting {
  code: string;
  reason: string;
  scenario?: AboutScenario | null;
  /** It is a fact, not a state that may pass by itself: no waiting. */
  certain?: boolean;
}

/** One reason as it is followed. Times are epoch ms. */
export interface Track {
  readonly code: string;
  readonly reason: string;
  readonly scenario: AboutScenario | null;
  readonly firstSeen: number;
  readonly lastSeen: number;
  /** It counts: the alarm is active because of it. */
  readonly on: boolean;
}

/** What is followed of one alarm at one appliance; active while one of the reasons counts. */
export type Fault = ReadonlyMap<string, Track>;

/** How long something must last to count, and be gone to be over, however it comes and goes in between. */
export interface Hold {
  raiseMs: number;
  clearMs: number;
}

/** own choice: a minute from the fault to the alarm is promised; what is gone for a minute is over. @source decisions.md 13 */
export const HOLD: Hold = { raiseMs: 10_000, clearMs: 60_000 };

/** What a look brought. */
export interface Look {
  fault: Fault;
  /** The status that is entered; null when it stays as it is. */
  entered: AlarmStatus | null;
  /** Reasons that count from now on. */
  began: readonly Track[];
  /** Reasons that counted and are over. */
  ended: readonly Track[];
}

/**
 * Follows one fault: a reason counts once it was seen over `raiseMs` without having been gone for `clearMs`, and is over
 * once it was gone for `clearMs`. So a fault that flaps, however fast, is raised once and is over once.
 */
export function look(fault: Fault, seen: readonly Sighting[], now: number, hold: Hold = HOLD): Look {
  const next = new Map<string, Track>();
  const began: Track[] = [];
  const ended: Track[] = [];
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
    else if (track.on) ended.push(track);
  }
  const was = isActive(fault);
  const is = isActive(next);
  return { fault: next, entered: was === is ? null : is ? "ACTIVE" : "OK", began, ended };
}

/** Ends all at once. */
export function clear(fault: Fault): Look {
  const ended = [...fault.values()].filter(({ on }) => on);
  return { fault: new Map(), entered: ended.length > 0 ? "OK" : null, began: [], ended };
}

/** True while a reason counts. */
export function isActive(fault: Fault): boolean {
  return [...fault.values()].some(({ on }) => on);
}
