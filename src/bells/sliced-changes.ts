import type { Clock } from "../base/clock.ts";
import { ConflictError } from "../base/errors.ts";
import type { BellScheduleException } from "../resources/bells/bell-parts.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import type bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import type dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import type { RowOf } from "../schema/resource.ts";
import { rehearse } from "../store/rehearsal.ts";
import type { By, Reader, RoomTable, Store, Sync, Transaction } from "../store/store.ts";
import { type BellScheduleRow, requireFewExceptions } from "./bell-schedule-behaviour.ts";
import type { Span } from "./calendar-days.ts";
import { type AffectedSchedule, type Choice, chosenSchedules, schedulesHolding } from "./chosen-schedules.ts";

/** A change of the exceptions of several schedules. */
export type ScheduleChange = typeof bulkExceptions | typeof dayChanges;

type ChangeRow<R extends ScheduleChange> = RowOf<R> & Choice & Span;

/** The exceptions that a schedule is to have; null where it stays as it is. Pure but for new ids. */
export type ExceptionChange = (row: BellScheduleRow) => BellScheduleException[] | null;

/** Reads what a stored change does to a schedule. Throws CallerError. */
export type ReadChange<R extends ScheduleChange> = (row: RowOf<R>, reader: Reader, by: By) => ExceptionChange;

/** Schedules that a decided change has not come to yet: made, or taken back. */
export const CHANGE_STEPS: RoomTable = {
  name: "bell_change_steps",
  sql: `CREATE TABLE IF NOT EXISTS bell_change_steps (change_id TEXT NOT NULL, schedule TEXT NOT NULL, resource TEXT NOT NULL,
    back INTEGER NOT NULL, PRIMARY KEY (change_id, schedule)) STRICT, WITHOUT ROWID`,
};

/** Longest work of one transaction, which planning shares its turn with. own choice */
const SLICE_MS = 2;

interface Slicing {
  store: Store;
  clock: Clock;
}

/**
 * Makes a change and carries it out in slices. All that could refuse it is found before anything is written; the row is
 * what decides: a process that ends afterwards goes on at its next start. Few schedules are changed in the very
 * transaction of the row.
 */
export async function makeChange<R extends ScheduleChange>(
  { resource, read }: { resource: R; read: ReadChange<R> },
  input: object,
  by: By,
  { store, clock }: Slicing,
): Promise<RowOf<R>> {
  const draft = (await rehearse(store, () => null).store.write(
    (tx) => tx.create(resource, input, by) as Sync<RowOf<R>>,
  )) as ChangeRow<R>;
  const changed = read(draft, store, by);
  const schedulesAffected: AffectedSchedule[] = [];
  for await (const row of chosenSchedules(draft, draft, by, { reader: store, clock })) {
    const exceptions = changed(row);
    if (!exceptions) continue;
    requireFewExceptions(exceptions, row.name);
    schedulesAffected.push({ id: row.id, name: row.name });
  }
  const ids = schedulesAffected.map(({ id }) => id);
  const { row, done } = await store.write((tx) => {
    const system = { id: draft.id, schedulesAffected } as never;
    const made = tx.create(resource, input, by, system);
    const first = takeSome(tx, { id: made.id, changed, ids, from: 0, by }, clock);
    keepSteps(tx, { id: made.id, resource: resource.name, back: false }, ids.slice(first));
    return { row: made, done: first } as Sync<{ row: RowOf<R>; done: number }>;
  });
  await carryOn({ id: row.id, changed, ids, from: done, by }, { store, clock });
  return row;
}

/** Takes a change back, as `makeChange` makes one; its row goes last. Throws ConflictError while it is still being carried out. */
export async function takeChangeBack<R extends ScheduleChange>(
  { resource, id, changed }: { resource: R; id: string; changed: ExceptionChange },
  by: By,
  { store, clock }: Slicing,
  check?: (row: RowOf<R>) => void,
): Promise<void> {
  const ids: string[] = [];
  for await (const row of schedulesHolding(id, { reader: store, clock })) if (changed(row)) ids.push(row.id);
  const remove = (tx: Transaction): void => tx.remove(resource, id, by);
  const done = await store.write((tx) => {
    const row = tx.get(resource, id);
    if (row) check?.(row);
    if (tx.one("SELECT 1 FROM bell_change_steps WHERE change_id = ?", id))
      throw new ConflictError("It is still being carried out.");
    const first = takeSome(tx, { id, changed, ids, from: 0, by }, clock);
    if (first === ids.length) remove(tx);
    else keepSteps(tx, { id, resource: resource.name, back: true }, ids.slice(first));
    return first;
  });
  if (done === ids.length) return;
  await carryOn({ id, changed, ids, from: done, by }, { store, clock });
  await store.write(remove);
}

/** One that an ended process had decided and not carried out. */
export interface LeftChange {
  id: string;
  resource: string;
  back: boolean;
}

/** Changes that are decided and not carried out. */
export function leftChanges(reader: Reader): LeftChange[] {
  return reader
    .all<{ id: string; resource: string; back: number }>(
      "SELECT change_id AS id, min(resource) AS resource, min(back) AS back FROM bell_change_steps GROUP BY change_id",
    )
    .map((each) => ({ ...each, back: each.back === 1 }));
}

/** Carries out what is left of a change. Rejects with the signal's reason when that aborts. */
export async function finishChange(
  { id, changed }: { id: string; changed: ExceptionChange },
  by: By,
  needs: Slicing & { signal: AbortSignal },
): Promise<void> {
  const left = needs.store.all<{ schedule: string }>("SELECT schedule FROM bell_change_steps WHERE change_id = ?", id);
  const ids = left.map(({ schedule }) => schedule);
  await carryOn({ id, changed, ids, from: 0, by }, needs);
}

interface Work {
  id: string;
  changed: ExceptionChange;
  ids: readonly string[];
  from: number;
  by: By;
}

async function carryOn(work: Work, { store, clock, signal }: Slicing & { signal?: AbortSignal }): Promise<void> {
  for (let from = work.from; from < work.ids.length; ) {
    signal?.throwIfAborted();
    const next = { ...work, from };
    from = await store.write((tx) => {
      const until = takeSome(tx, next, clock);
      const done = JSON.stringify(work.ids.slice(from, until));
      const sql = "DELETE FROM bell_change_steps WHERE change_id = ? AND schedule IN (SELECT value FROM json_each(?))";
      tx.run(sql, work.id, done);
      return until;
    });
  }
}

/** Changes as many schedules as time allows, each as it stands by now; answers up to which it came. */
function takeSome(tx: Transaction, { changed, ids, from, by }: Work, clock: Clock): number {
  const began = clock.monotonicMs();
  let at = from;
  while (at < ids.length) {
    const row = tx.get(bellSchedules, ids[at++] as string);
    const bellScheduleExceptions = row && changed(row);
    if (bellScheduleExceptions) tx.update(bellSchedules, row.id, {}, by, { bellScheduleExceptions });
    if (clock.monotonicMs() - began >= SLICE_MS) break;
  }
  return at;
}

function keepSteps(tx: Transaction, { id, resource, back }: LeftChange, schedules: readonly string[]): void {
  if (schedules.length === 0) return;
  const sql = "INSERT INTO bell_change_steps SELECT ?, value, ?, ? FROM json_each(?)";
  tx.run(sql, id, resource, Number(back), JSON.stringify(schedules));
}
