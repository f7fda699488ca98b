import bellSchedules from "../resources/bells/bell-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { DryRunWrite } from "../store/dry-run.ts";
import type { StoreReader } from "../store/store.ts";
import type { TimetableChange } from "./ring-diff.ts";
import { type LocalTimeContext, loadTimetables, type Timetable } from "./timetables.ts";

/** Timetables of the schedules that a write affects, as they are inside the dry run. */
export interface AffectedTimetables {
  timetables: readonly Timetable[];
  /** True if more schedules are affected than were read. */
  partial: boolean;
}

/** Read inside the write transaction. @source docs/decisions/0200-bell-engine-limits.md, Limits */
const MAX_COMPARED = 100;

/**
 * Records, for each row that a dry run writes, the schedules whose rings depend on it; none for other resources. Schedules
 * beyond the first 100 are not read.
 */
export function createAffectedTimetableRecorder(times: LocalTimeContext) {
  const noted = new Set<number>();
  return (reader: StoreReader, resource: AnyResource, row: object): AffectedTimetables => {
    const pks = affectedScheduleKeys(reader, resource, row as Readonly<Record<string, unknown>>);
    for (const pk of pks.slice(0, MAX_COMPARED)) if (noted.size < MAX_COMPARED) noted.add(pk);
    const known = pks.filter((pk) => noted.has(pk));
    const rows = known.length === 0 ? [] : reader.getByPks(bellSchedules, known);
    return { timetables: loadTimetables(reader, rows, times), partial: known.length < pks.length };
  };
}

function affectedScheduleKeys(
  reader: StoreReader,
  resource: AnyResource,
  row: Readonly<Record<string, unknown>>,
): number[] {
  if (resource.name === bellSchedules.name) return [row.pk as number];
  if (resource.name !== ringLists.name) return [];
  const sql = "SELECT owner AS pk FROM bell_schedules__ring_list_ids WHERE target = ? ORDER BY owner";
  return reader.all<{ pk: number }>(sql, row.pk as number).map(({ pk }) => pk);
}

/** Compares the schedules that a dry run affected with their state in `reader`, which the dry run did not change. */
export function compareDryRun(
  written: readonly DryRunWrite<{ schedules: AffectedTimetables }>[],
  reader: StoreReader,
  times: LocalTimeContext,
): { compared: TimetableChange[]; partial: boolean } {
  const after = new Map<string, Timetable | null>();
  let partial = false;
  for (const { before, after: now } of written) {
    for (const { seen } of [before, now].filter((side) => side !== null)) {
      partial ||= seen.schedules.partial;
      for (const timetable of seen.schedules.timetables) after.set(timetable.schedule.id, timetable);
    }
    if (now || !before) continue;
    for (const { schedule } of before.seen.schedules.timetables) after.set(schedule.id, null);
  }
  const rows = [...after.keys()].flatMap((id) => reader.get(bellSchedules, id) ?? []);
  const held = new Map(loadTimetables(reader, rows, times).map((timetable) => [timetable.schedule.id, timetable]));
  const compared = [...after].map(([id, timetable]) => ({ before: held.get(id) ?? null, after: timetable }));
  return { compared, partial };
}
