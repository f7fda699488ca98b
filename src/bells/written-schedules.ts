import bellSchedules from "../resources/bells/bell-schedules.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Rehearsed } from "../store/rehearsal.ts";
import type { Reader } from "../store/store.ts";
import { type BellScheduleRow, exceptionsOf } from "./bell-schedule-behaviour.ts";
import type { AffectedSchedule } from "./chosen-schedules.ts";
import { takeBack } from "./day-changes.ts";
import type { Compared } from "./ring-difference.ts";
import { type BellTimes, type Timetable, timetablesOf } from "./timetables.ts";

/** Schedules that a written row makes ring otherwise, as they stand at that moment within the rehearsal. */
export interface WrittenSchedules {
  timetables: readonly Timetable[];
  /** True where there are more. */
  partial: boolean;
}

/** own choice: they are read within the write. */
const MOST_COMPARED = 100;

/** What a rehearsal notes of a row that it writes: the schedules whose rings follow from it; none for any other resource. */
export function writtenSchedules(
  reader: Reader,
  resource: AnyResource,
  row: object,
  times: BellTimes,
): WrittenSchedules {
  const pks = keysOf(reader, resource, row as Readonly<Record<string, unknown>>);
  const rows = reader.byPks(bellSchedules, pks.slice(0, MOST_COMPARED));
  return { timetables: timetablesOf(reader, rows, times), partial: pks.length > MOST_COMPARED };
}

function keysOf(reader: Reader, resource: AnyResource, row: Readonly<Record<string, unknown>>): number[] {
  const keys = (sql: string, param: string | number): number[] =>
    reader.all<{ pk: number }>(sql, param).map(({ pk }) => pk);
  if (resource.name === bellSchedules.name) return [row.pk as number];
  if (resource.name === ringLists.name)
    return keys(
      "SELECT owner AS pk FROM bell_schedules__ring_list_ids WHERE target = ? ORDER BY owner",
      row.pk as number,
    );
  if (resource.name !== bulkExceptions.name && resource.name !== dayChanges.name) return [];
  const ids = (row.schedulesAffected as AffectedSchedule[]).map(({ id }) => id);
  return keys(
    "SELECT pk FROM bell_schedules WHERE id IN (SELECT value FROM json_each(?)) ORDER BY pk",
    JSON.stringify(ids),
  );
}

/** The schedules that a rehearsal made ring otherwise, with how they stand in `reader`, where it left no trace. */
export function comparedBy(
  written: readonly Rehearsed<{ schedules: WrittenSchedules }>[],
  reader: Reader,
  times: BellTimes,
): { compared: Compared[]; partial: boolean } {
  const after = new Map<string, Timetable | null>();
  let partial = false;
  for (const { resource, before, after: now } of written) {
    for (const { seen } of [before, now].filter((side) => side !== null)) {
      partial ||= seen.schedules.partial;
      for (const timetable of seen.schedules.timetables) after.set(timetable.schedule.id, timetable);
    }
    if (now || !before) continue;
    for (const { schedule } of before.seen.schedules.timetables) {
      const isGone = resource.name === bellSchedules.name;
      after.set(schedule.id, isGone ? null : withoutChange(reader, schedule.id, before.row.id, times));
    }
  }
  const rows = [...after.keys()].flatMap((id) => reader.get(bellSchedules, id) ?? []);
  const held = new Map(timetablesOf(reader, rows, times).map((timetable) => [timetable.schedule.id, timetable]));
  const compared = [...after].map(([id, timetable]) => ({ before: held.get(id) ?? null, after: timetable }));
  return { compared, partial };
}

/** A schedule as it would be once the day change is taken back; deletions show nothing of what follows from them. */
function withoutChange(reader: Reader, id: string, dayChangeId: string, times: BellTimes): Timetable | null {
  const row: BellScheduleRow | null = reader.get(bellSchedules, id);
  if (!row) return null;
  const back = takeBack(exceptionsOf(row), dayChangeId);
  const bellScheduleExceptions = back === "covered" ? exceptionsOf(row) : back;
  return timetablesOf(reader, [{ ...row, bellScheduleExceptions }], times)[0] ?? null;
}
