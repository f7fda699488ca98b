import type { RingListEntry } from "../resources/bells/bell-fields.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import { isTimeZone } from "../resources/bells/time-zones.ts";
import { tableName } from "../schema/catalogue.ts";
import type { StoreReader } from "../store/store.ts";
import { type ClockRules, createTimeZones, type ZoneLookup } from "../time-zones/time-zones.ts";
import { type BellScheduleRow, cycleEntriesOf, scheduleExceptionsOf } from "./bell-schedule-hooks.ts";
import {
  type CompiledSchedule,
  compileSchedule,
  type RingListTimes,
  type RingSchedule,
  type ScheduleException,
  type TimeZoneContext,
} from "./schedule-expansion.ts";

/** A stored schedule with everything that its rings depend on. */
export interface Timetable {
  schedule: RingSchedule;
  ringLists: readonly RingListTimes[];
  exceptions: readonly ScheduleException[];
}

export interface LocalTimeContext extends TimeZoneContext {
  /** Time zone of the appliance, for schedules without one; a name that `isTimeZone` accepts. */
  ownZone(): string;
  /** Where the zones come from. */
  data: ZoneLookup;
}

/** Falls back to UTC if the time zone of the appliance is not one that bells support. */
export function createLocalTimeContext({
  ownZone,
  rules,
  data,
}: {
  ownZone(): string;
  rules?: ClockRules;
  data: ZoneLookup;
}): LocalTimeContext {
  const named = (zone: string): string => (isTimeZone(zone) ? zone : "UTC");
  return { zones: createTimeZones(data), data, ...(rules ? { rules } : {}), ownZone: () => named(ownZone()) };
}

/** The timetables of stored schedules, in the same order; one query. */
export function loadTimetables(
  reader: StoreReader,
  rows: readonly BellScheduleRow[],
  times: LocalTimeContext,
): Timetable[] {
  const ids = [...new Set(rows.flatMap(({ ringListIds }) => ringListIds))];
  const lists = new Map(
    reader
      .all<{ id: string; entries: string }>(
        `SELECT id, entries FROM ${tableName(ringLists)} WHERE id IN (SELECT value FROM json_each(?))`,
        JSON.stringify(ids),
      )
      .map(({ id, entries }) => [id, { id, entries: JSON.parse(entries) as RingListEntry[] }]),
  );
  return rows.map((row) => ({
    schedule: toRingSchedule(row, times),
    ringLists: row.ringListIds.flatMap((id) => lists.get(id) ?? []),
    exceptions: scheduleExceptionsOf(row),
  }));
}

export function compileTimetable(
  { schedule, ringLists: lists, exceptions }: Timetable,
  times: LocalTimeContext,
): CompiledSchedule {
  return compileSchedule(schedule, lists, exceptions, times);
}

function toRingSchedule(row: BellScheduleRow, { ownZone }: LocalTimeContext): RingSchedule {
  const { id, startDate, endDate, numWeeks } = row;
  const rotation = row.rotation ?? "calendar";
  return {
    id,
    startDate,
    endDate,
    numWeeks,
    rotation,
    timeZone: row.timeZone ?? ownZone(),
    entries: cycleEntriesOf(row),
  };
}
