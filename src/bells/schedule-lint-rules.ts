import { DAY_MS } from "../lib/durations.ts";
import type { RingListEntry } from "../resources/bells/bell-fields.ts";
import { TIME_ZONE_ALIASES } from "../resources/bells/time-zones.ts";
import messageTemplates from "../resources/messages/message-templates.ts";
import type { StoreReader } from "../store/store.ts";
import type { ZoneLookup } from "../time-zones/time-zones.ts";
import { formatDayNumber, secondOfDay } from "./local-time.ts";
import { plannedRingsBetween } from "./ring-repository.ts";
import { eachRing, expandCompiledSchedule } from "./schedule-expansion.ts";
import { compileTimetable, type LocalTimeContext, type Timetable } from "./timetables.ts";

/** One type of error in the rings of a schedule: how often, and where first. */
export interface ScheduleFinding {
  kind: "twice" | "out of order" | "wrong time" | "no recipients" | "not planned" | "planned wrongly";
  count: number;
  /** Such as `08:00 on 2031-09-01`. */
  first: string;
}

/** Offset from UTC in ms, by other code than that of the plans. */
export type ZoneOffsetLookup = (zone: string, at: number) => number;

export interface TimetableLintContext {
  reader: StoreReader;
  times: LocalTimeContext;
  offsets: ZoneOffsetLookup;
  now: number;
  /** True if the plan of the schedule is dirty. */
  isStale: boolean;
}

/** @source docs/decisions/0015-bell-engine.md, Proof */
const LINT_SPAN_MS = 365 * DAY_MS;
/** Nearer rings are already being prepared; rings beyond the horizon need not be planned. */
const PLANNED_FROM_MS = 120_000;
const PLANNED_TO_MS = 48 * 3_600_000;

/**
 * Checks the rings of the next 365 days: each once, sorted, at its local time by a second lookup of its zone (or at the end of
 * a DST gap), with recipients, and planned for the next two days. Returns an empty list if all is well.
 */
export function lintTimetable(timetable: Timetable, deps: TimetableLintContext): ScheduleFinding[] {
  const { times, offsets, now, reader } = deps;
  const findings = new Map<ScheduleFinding["kind"], ScheduleFinding>();
  const addFinding = (kind: ScheduleFinding["kind"], day: string, time: string): void => {
    const known = findings.get(kind) ?? { kind, count: 0, first: `${time.slice(0, 5)} on ${day}` };
    known.count++;
    findings.set(kind, known);
  };
  const compiled = compileTimetable(timetable, times);
  const { timeZone } = timetable.schedule;
  const withoutRecipients = entriesWithoutRecipients(timetable, reader);
  let before = Number.NEGATIVE_INFINITY;
  let [today, seen] = [Number.NaN, new Set<string>()];
  eachRing(compiled, now, now + LINT_SPAN_MS, (at, day, { entries }, index) => {
    const entry = entries[index] as RingListEntry;
    if (day !== today) [today, seen] = [day, new Set()];
    const addFindingOfDay = (kind: ScheduleFinding["kind"]): void => addFinding(kind, formatDayNumber(day), entry.time);
    if (seen.has(entry.id)) addFindingOfDay("twice");
    seen.add(entry.id);
    if (at < before) addFindingOfDay("out of order");
    before = at;
    if (!showsLocalTime(at, day * DAY_MS + secondOfDay(entry.time) * 1_000, (ms) => offsets(timeZone, ms)))
      addFindingOfDay("wrong time");
    if (withoutRecipients.has(entry.id)) addFindingOfDay("no recipients");
  });
  if (!deps.isStale) {
    const [from, to] = [now + PLANNED_FROM_MS, now + PLANNED_TO_MS];
    const planned = plannedRingsBetween(reader, timetable.schedule.id, from, to);
    const wanted = new Map(expandCompiledSchedule(compiled, from, to).map((ring) => [ring.id, ring]));
    for (const { id, localDate, localTime } of planned) {
      if (!wanted.delete(id)) addFinding("planned wrongly", localDate, localTime);
    }
    for (const { localDate, localTime } of wanted.values()) addFinding("not planned", localDate, localTime);
  }
  return [...findings.values()];
}

/** True if the instant shows the local time, or is the end of the DST gap that contains it. */
function showsLocalTime(at: number, localMs: number, offset: (ms: number) => number): boolean {
  const shown = at + offset(at);
  if (shown === localMs) return true;
  return shown > localMs && at - 1_000 + offset(at - 1_000) < localMs;
}

/** Entries without recipients of their own whose template has none either. */
function entriesWithoutRecipients({ ringLists }: Timetable, reader: StoreReader): Set<string> {
  const named = new Map<string, boolean>();
  const hasOwnRecipients = (id: string): boolean => {
    const known = named.get(id) ?? hasRecipients(reader, id);
    named.set(id, known);
    return known;
  };
  const withoutRecipients = ringLists.flatMap(({ entries }) =>
    entries.filter(
      ({ deviceGroupIds, distributionListIds, messageTemplateId }) =>
        deviceGroupIds.length + distributionListIds.length === 0 && !hasOwnRecipients(messageTemplateId),
    ),
  );
  return new Set(withoutRecipients.map(({ id }) => id));
}

function hasRecipients(reader: StoreReader, id: string): boolean {
  const row = reader.get(messageTemplates, id);
  if (!row) return false;
  const { deviceGroupIds, distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds } = row;
  return [deviceGroupIds, distributionListIds, userIds, areaOfInterestIds, collaborationGroupIds].some(
    (ids) => (ids?.length ?? 0) > 0,
  );
}

/** Offsets of the zone data without the transition tables that plans use; two lookups a day unless the clocks change. */
export function createZoneOffsetLookup(data: ZoneLookup): ZoneOffsetLookup {
  const zones = new Map<string, { offset(at: number): number; days: Map<number, number> }>();
  const zoneOf = (name: string) => {
    const known = zones.get(name);
    if (known) return known;
    const zone = data.zone(TIME_ZONE_ALIASES[name] ?? name);
    const made = { offset: (at: number) => (zone?.offset(at) ?? 0) * 60_000, days: new Map<number, number>() };
    zones.set(name, made);
    return made;
  };
  return (name, at) => {
    const { offset, days } = zoneOf(name);
    const day = Math.floor(at / DAY_MS);
    const known = days.get(day);
    if (known !== undefined && !Number.isNaN(known)) return known;
    if (known === undefined) {
      const [first, last] = [offset(day * DAY_MS), offset((day + 1) * DAY_MS)];
      days.set(day, first === last ? first : Number.NaN);
      if (first === last) return first;
    }
    return offset(at);
  };
}
