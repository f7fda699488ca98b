import type { RingListEntry } from "../resources/bells/bell-parts.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import { isZone } from "../resources/bells/time-zones.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { Reader } from "../store/store.ts";
import { type BellScheduleRow, entriesOf, exceptionsOf } from "./bell-schedule-behaviour.ts";
import {
  type CompiledSchedule,
  compileSchedule,
  type RingContext,
  type RingList,
  type Schedule,
  type ScheduleException,
} from "./rings.ts";
import { type ClockRules, createZones } from "./zones.ts";

/** All that the rings of a schedule follow from, as it is stored. */
export interface Timetable {
  schedule: Schedule;
  ringLists: readonly RingList[];
  exceptions: readonly ScheduleException[];
}

/** What local times mean on this appliance. */
export interface BellTimes extends RingContext {
  /** The appliance's own zone, of schedules without one; a name that `isZone` takes. */
  ownZone(): string;
}

/** Times by which bells ring here; a zone that bells can't name gives way to UTC. */
export function createBellTimes({ ownZone, rules }: { ownZone(): string; rules?: ClockRules }): BellTimes {
  const named = (zone: string): string => (isZone(zone) ? zone : "UTC");
  return { zones: createZones(), ...(rules ? { rules } : {}), ownZone: () => named(ownZone()) };
}

/** The timetables of stored schedules, in their order; one query. */
export function timetablesOf(reader: Reader, rows: readonly BellScheduleRow[], times: BellTimes): Timetable[] {
  const ids = [...new Set(rows.flatMap(({ ringListIds }) => ringListIds))];
  const lists = new Map(
    reader
      .all<{ id: string; entries: string }>(
        `SELECT id, entries FROM ${tableOf(ringLists)} WHERE id IN (SELECT value FROM json_each(?))`,
        JSON.stringify(ids),
      )
      .map(({ id, entries }) => [id, { id, entries: JSON.parse(entries) as RingListEntry[] }]),
  );
  return rows.map((row) => ({
    schedule: scheduleOf(row, times),
    ringLists: row.ringListIds.flatMap((id) => lists.get(id) ?? []),
    exceptions: exceptionsOf(row),
  }));
}

/** A timetable made ready for counting. */
export function compileTimetable(
  { schedule, ringLists: lists, exceptions }: Timetable,
  times: BellTimes,
): CompiledSchedule {
  return compileSchedule(schedule, lists, exceptions, times);
}

function scheduleOf(row: BellScheduleRow, { ownZone }: BellTimes): Schedule {
  const { id, startDate, endDate, numWeeks } = row;
  const rotation = row.rotation ?? "calendar";
  return { id, startDate, endDate, numWeeks, rotation, timeZone: row.timeZone ?? ownZone(), entries: entriesOf(row) };
}
