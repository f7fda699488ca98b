import { DAY_MS } from "../lib/durations.ts";
import { derivedId } from "../lib/ids.ts";
import type { BellScheduleEntry, BellScheduleException, RingListEntry } from "../resources/bells/bell-fields.ts";
import { type ClockRules, DEFAULT_CLOCK_RULES, type TimeZone, type TimeZones } from "../time-zones/time-zones.ts";
import { formatDayNumber, mondayOf, parseDayNumber, secondOfDay } from "./local-time.ts";
import { applyRingListChanges } from "./ring-list-changes.ts";

export interface RingListTimes {
  id: string;
  entries: readonly RingListEntry[];
}

/** Replaces the ring list of the cycle from the first to the last date, both included; the last exception wins. */
export type ScheduleException = Pick<BellScheduleException, "startDate" | "endDate" | "ringListId" | "ringListChanges">;

export interface RingSchedule {
  id: string;
  /** A name that `isTimeZone` accepts. */
  timeZone: string;
  /** `YYYY-MM-DD`, both included. */
  startDate: string;
  endDate: string;
  numWeeks: number;
  /** Day of the cycle (0 = Monday of the week that contains `startDate`) and its ring list. */
  entries: readonly BellScheduleEntry[];
  /**
   * Default `calendar`: the cycle follows the weeks. `school-day`: after days that an exception silences, the cycle continues
   * with the day that was left out.
   */
  rotation?: "calendar" | "school-day";
}

export interface Ring {
  /** The same on every node and the id of the notification: UUID v5 of schedule, entry, local date and time. */
  id: string;
  /** Epoch ms. */
  at: number;
  /** `YYYY-MM-DD` and `HH:mm:ss` of the schedule, also for a time inside a DST gap. */
  localDate: string;
  localTime: string;
  scheduleId: string;
  ringListId: string;
  entry: RingListEntry;
}

export interface TimeZoneContext {
  zones: TimeZones;
  rules?: ClockRules;
}

/** A schedule with ring lists as seconds of the day and dates as days since 1970. */
export interface CompiledSchedule {
  schedule: RingSchedule;
  zone: TimeZone;
  rules: ClockRules;
  firstDay: number;
  lastDay: number;
  /** The ring list of a day since 1970; null if nothing rings. */
  listOn(day: number): CompiledList | null;
}

/** Entries sorted by time. */
interface CompiledList {
  ringListId: string;
  seconds: readonly number[];
  entries: readonly RingListEntry[];
}

/** Compiles a schedule for `eachRing`. A ring list that does not exist counts as silent. */
export function compileSchedule(
  schedule: RingSchedule,
  ringLists: readonly RingListTimes[],
  exceptions: readonly ScheduleException[],
  { zones, rules = DEFAULT_CLOCK_RULES }: TimeZoneContext,
): CompiledSchedule {
  const lists = new Map(ringLists.map((list) => [list.id, compileList(list.id, list.entries)]));
  const pattern = compilePattern(schedule, lists);
  const compiledExceptions = exceptions.map((exception) => ({
    first: parseDayNumber(exception.startDate),
    last: parseDayNumber(exception.endDate),
    list: exceptionList(exception, lists),
  }));
  const firstDay = parseDayNumber(schedule.startDate);
  const listInPattern =
    schedule.rotation === "school-day"
      ? schoolDayRotation(pattern, firstDay, compiledExceptions)
      : calendarRotation(pattern, firstDay);
  return {
    schedule,
    zone: zones.of(schedule.timeZone),
    rules,
    firstDay,
    lastDay: parseDayNumber(schedule.endDate),
    listOn(day) {
      for (let index = compiledExceptions.length - 1; index >= 0; index--) {
        const exception = compiledExceptions[index];
        if (exception && exception.first <= day && day <= exception.last) return exception.list;
      }
      return listInPattern(day);
    },
  };
}

/**
 * Calls `visit` for each ring from `fromMs` (included) to `toMs` (not included), sorted by time, with its instant, day since
 * 1970, list and index in the list. Allocates nothing per ring, so a whole year expands fast.
 */
export function eachRing(
  compiled: CompiledSchedule,
  fromMs: number,
  toMs: number,
  visit: (at: number, day: number, list: CompiledList, index: number) => void,
): void {
  const { zone, rules } = compiled;
  // A ring is at most a day and a half from its UTC date: 14 h of offset, and a DST gap of up to a day.
  const first = Math.max(compiled.firstDay, Math.floor(fromMs / DAY_MS) - 2);
  const last = Math.min(compiled.lastDay, Math.floor(toMs / DAY_MS) + 2);
  for (let day = first; day <= last; day++) {
    const list = compiled.listOn(day);
    if (!list) continue;
    const midnight = day * DAY_MS;
    const offset = zone.offsetOfDay(midnight);
    const plain = !Number.isNaN(offset);
    const { seconds } = list;
    for (let index = 0; index < seconds.length; index++) {
      const localMs = midnight + (seconds[index] ?? 0) * 1_000;
      const at = plain ? localMs - offset : zone.instantOf(localMs, rules);
      if (at !== null && at >= fromMs && at < toMs) visit(at, day, list, index);
    }
  }
}

/** Rings from `fromMs` (included) to `toMs` (not included), sorted by time. Pure. */
export function expandSchedule(
  schedule: RingSchedule,
  ringLists: readonly RingListTimes[],
  exceptions: readonly ScheduleException[],
  fromMs: number,
  toMs: number,
  context: TimeZoneContext,
): Ring[] {
  return expandCompiledSchedule(compileSchedule(schedule, ringLists, exceptions, context), fromMs, toMs);
}

/** As `expandSchedule`, for a compiled schedule. */
export function expandCompiledSchedule(compiled: CompiledSchedule, fromMs: number, toMs: number): Ring[] {
  const rings: Ring[] = [];
  const scheduleId = compiled.schedule.id;
  let [dated, localDate] = [Number.NaN, ""];
  eachRing(compiled, fromMs, toMs, (at, day, { ringListId, entries }, index) => {
    const entry = entries[index];
    if (!entry) return;
    if (day !== dated) [dated, localDate] = [day, formatDayNumber(day)];
    const id = ringId(scheduleId, entry.id, localDate, entry.time);
    rings.push({ id, at, localDate, localTime: entry.time, scheduleId, ringListId, entry });
  });
  return rings;
}

/** The same ring has the same id on every node. @source docs/decisions/0015-bell-engine.md, Model */
function ringId(scheduleId: string, entryId: string, localDate: string, localTime: string): string {
  return derivedId(scheduleId, entryId, localDate, localTime);
}

function compileList(ringListId: string, given: readonly RingListEntry[]): CompiledList {
  const entries = [...given].sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : a.id < b.id ? -1 : 1));
  return { ringListId, entries, seconds: entries.map(({ time }) => secondOfDay(time)) };
}

function exceptionList(
  { ringListId, ringListChanges }: ScheduleException,
  lists: ReadonlyMap<string, CompiledList>,
): CompiledList | null {
  const list = ringListId === null ? undefined : lists.get(ringListId);
  if (!list) return null;
  return ringListChanges.length === 0
    ? list
    : compileList(list.ringListId, applyRingListChanges(list.entries, ringListChanges));
}

function compilePattern(schedule: RingSchedule, lists: ReadonlyMap<string, CompiledList>): (CompiledList | null)[] {
  const pattern = new Array<CompiledList | null>(schedule.numWeeks * 7).fill(null);
  for (const { entryNum, ringListId } of schedule.entries) {
    if (ringListId !== null && entryNum in pattern) pattern[entryNum] = lists.get(ringListId) ?? null;
  }
  return pattern;
}

type PatternLookup = (day: number) => CompiledList | null;

function calendarRotation(pattern: readonly (CompiledList | null)[], firstDay: number): PatternLookup {
  const monday = mondayOf(firstDay);
  return (day) => pattern[(day - monday) % pattern.length] ?? null;
}

/** Days of the cycle that have a ring list, in order; which of them applies depends on the number of silenced days before. */
function schoolDayRotation(
  pattern: readonly (CompiledList | null)[],
  firstDay: number,
  exceptions: readonly { first: number; last: number; list: CompiledList | null }[],
): PatternLookup {
  const monday = mondayOf(firstDay);
  const ringing = pattern.filter((list) => list !== null);
  const rings = (day: number): boolean => (pattern[(day - monday) % pattern.length] ?? null) !== null;
  const positionInCycle = pattern.map((_, index) => pattern.slice(0, index).filter((list) => list !== null).length);
  const silenced = new Set<number>();
  for (const { first, last, list } of exceptions) {
    for (let day = Math.max(first, firstDay); day <= last; day++) {
      if (list === null && rings(day)) silenced.add(day);
      else silenced.delete(day);
    }
  }
  const sortedSilencedDays = [...silenced].sort((a, b) => a - b);
  return (day) => {
    if (!rings(day)) return null;
    const round = Math.floor((day - monday) / pattern.length) * ringing.length;
    const place =
      round + (positionInCycle[(day - monday) % pattern.length] ?? 0) - countBefore(sortedSilencedDays, day);
    return ringing[((place % ringing.length) + ringing.length) % ringing.length] ?? null;
  };
}

function countBefore(days: readonly number[], day: number): number {
  const found = days.findIndex((each) => each >= day);
  return found < 0 ? days.length : found;
}
