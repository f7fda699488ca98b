import type { Clock } from "../lib/clock.ts";
import { ConflictError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import type { BellScheduleException } from "../resources/bells/bell-fields.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import type bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import type dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import type { RowOf } from "../schema/resource.ts";
import { createDryRun } from "../store/dry-run.ts";
import type { ActorContext, InternalTable, Store, StoreReader, Sync, Transaction } from "../store/store.ts";
import { assertExceptionLimit, type BellScheduleRow } from "./bell-schedule-hooks.ts";
import type { DateSpan } from "./date-span.ts";
import {
  type AffectedSchedule,
  type ScheduleSelection,
  schedulesMentioning,
  selectSchedules,
} from "./schedule-selection.ts";

export type BulkChangeResource = typeof bulkExceptions | typeof dayChanges;

type ChangeRow<R extends BulkChangeResource> = RowOf<R> & ScheduleSelection & DateSpan;

/** The new exceptions of a schedule; null if it does not change. Pure except for new ids. */
export type ExceptionEdit = (row: BellScheduleRow) => BellScheduleException[] | null;

/** Compiles a stored change to an edit of one schedule. Throws CallerError. */
export type ParseExceptionEdit<R extends BulkChangeResource> = (
  row: RowOf<R>,
  reader: StoreReader,
  by: ActorContext,
) => ExceptionEdit;

/** Pending steps of committed bulk changes: schedules that still have to be changed or reverted. */
export const BULK_CHANGE_STEPS: InternalTable = {
  name: "bell_change_steps",
  sql: `CREATE TABLE IF NOT EXISTS bell_change_steps (change_id TEXT NOT NULL, schedule TEXT NOT NULL, resource TEXT NOT NULL,
    back INTEGER NOT NULL, PRIMARY KEY (change_id, schedule)) STRICT, WITHOUT ROWID`,
};

/** Longest transaction; replanning shares the time slice. @source docs/decisions/0200-bell-engine-limits.md, Time slices */
const TIME_SLICE_MS = 2;

interface BulkChangeDeps {
  store: Store;
  clock: Clock;
}

/**
 * Stores a change and applies it in chunks. Everything that can refuse it is checked before the first write. The stored row
 * decides: if the process ends, the job resumes at the next start. A few schedules are changed in the transaction of the
 * row.
 */
export async function createBulkChange<R extends BulkChangeResource>(
  { resource, read }: { resource: R; read: ParseExceptionEdit<R> },
  input: object,
  by: ActorContext,
  { store, clock }: BulkChangeDeps,
): Promise<RowOf<R>> {
  const draft = (await createDryRun(store, () => null).store.write(
    (tx) => tx.create(resource, input, by) as Sync<RowOf<R>>,
  )) as ChangeRow<R>;
  const changed = read(draft, store, by);
  const schedulesAffected: AffectedSchedule[] = [];
  for await (const row of selectSchedules(draft, draft, by, { reader: store, clock })) {
    const exceptions = changed(row);
    if (!exceptions) continue;
    assertExceptionLimit(exceptions, row.name);
    schedulesAffected.push({ id: row.id, name: row.name });
  }
  const ids = schedulesAffected.map(({ id }) => id);
  const { row, done } = await store.write((tx) => {
    const system = { id: draft.id, schedulesAffected } as never;
    const made = tx.create(resource, input, by, system);
    const first = applyChunk(tx, { id: made.id, changed, ids, from: 0, by }, clock);
    saveRemainingSteps(tx, { id: made.id, resource: resource.name, back: false }, ids.slice(first));
    return { row: made, done: first } as Sync<{ row: RowOf<R>; done: number }>;
  });
  await applyRemaining({ id: row.id, changed, ids, from: done, by }, { store, clock });
  return row;
}

/** Reverts a change, as `createBulkChange` applies one; its row is removed last. Throws ConflictError while the change is still being applied. */
export async function revertBulkChange<R extends BulkChangeResource>(
  { resource, id, changed }: { resource: R; id: string; changed: ExceptionEdit },
  by: ActorContext,
  { store, clock }: BulkChangeDeps,
  check?: (row: RowOf<R>) => void,
): Promise<void> {
  const ids: string[] = [];
  for await (const row of schedulesMentioning(id, { reader: store, clock })) if (changed(row)) ids.push(row.id);
  const remove = (tx: Transaction): void => tx.remove(resource, id, by);
  const done = await store.write((tx) => {
    const row = tx.get(resource, id);
    if (row) check?.(row);
    if (tx.one("SELECT 1 FROM bell_change_steps WHERE change_id = ?", id))
      throw new ConflictError(sentence("error.the-change-is-still-being-applied-retry-after-it-has-finished"));
    const first = applyChunk(tx, { id, changed, ids, from: 0, by }, clock);
    if (first === ids.length) remove(tx);
    else saveRemainingSteps(tx, { id, resource: resource.name, back: true }, ids.slice(first));
    return first;
  });
  if (done === ids.length) return;
  await applyRemaining({ id, changed, ids, from: done, by }, { store, clock });
  await store.write(remove);
}

/** A committed change that was interrupted before it was complete. */
export interface UnfinishedChange {
  id: string;
  resource: string;
  back: boolean;
}

export function unfinishedChanges(reader: StoreReader): UnfinishedChange[] {
  return reader
    .all<{ id: string; resource: string; back: number }>(
      "SELECT change_id AS id, min(resource) AS resource, min(back) AS back FROM bell_change_steps GROUP BY change_id",
    )
    .map((each) => ({ ...each, back: each.back === 1 }));
}

/** Applies the remaining steps of a change. Rejects with the reason of the signal if it aborts. */
export async function resumeBulkChange(
  { id, changed }: { id: string; changed: ExceptionEdit },
  by: ActorContext,
  deps: BulkChangeDeps & { signal: AbortSignal },
): Promise<void> {
  const left = deps.store.all<{ schedule: string }>("SELECT schedule FROM bell_change_steps WHERE change_id = ?", id);
  const ids = left.map(({ schedule }) => schedule);
  await applyRemaining({ id, changed, ids, from: 0, by }, deps);
}

interface BulkChangeJob {
  id: string;
  changed: ExceptionEdit;
  ids: readonly string[];
  from: number;
  by: ActorContext;
}

async function applyRemaining(
  work: BulkChangeJob,
  { store, clock, signal }: BulkChangeDeps & { signal?: AbortSignal },
): Promise<void> {
  for (let from = work.from; from < work.ids.length; ) {
    signal?.throwIfAborted();
    const next = { ...work, from };
    from = await store.write((tx) => {
      const until = applyChunk(tx, next, clock);
      const done = JSON.stringify(work.ids.slice(from, until));
      const sql = "DELETE FROM bell_change_steps WHERE change_id = ? AND schedule IN (SELECT value FROM json_each(?))";
      tx.run(sql, work.id, done);
      return until;
    });
  }
}

/** Changes as many schedules as the time slice allows, each in its current state; returns the index to continue at. */
function applyChunk(tx: Transaction, { changed, ids, from, by }: BulkChangeJob, clock: Clock): number {
  const slice = createTimeSlice(clock, { sliceMs: TIME_SLICE_MS });
  let at = from;
  while (at < ids.length) {
    const row = tx.get(bellSchedules, ids[at++] as string);
    const bellScheduleExceptions = row && changed(row);
    if (bellScheduleExceptions) tx.update(bellSchedules, row.id, {}, by, { bellScheduleExceptions });
    if (slice.isOver()) break;
  }
  return at;
}

function saveRemainingSteps(
  tx: Transaction,
  { id, resource, back }: UnfinishedChange,
  schedules: readonly string[],
): void {
  if (schedules.length === 0) return;
  const sql = "INSERT INTO bell_change_steps SELECT ?, value, ?, ? FROM json_each(?)";
  tx.run(sql, id, resource, Number(back), JSON.stringify(schedules));
}
