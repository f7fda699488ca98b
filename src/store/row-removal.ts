import type Database from "better-sqlite3";
import type { Clock } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { AnyRow } from "./row-shape.ts";
import type { ActorContext, StoreReader, Sync, Transaction } from "./store.ts";
import type { Tables } from "./tables.ts";
import type { Writer } from "./writer.ts";

/** Dependencies of the row remover. */
export interface RowRemovalDeps {
  db: Database.Database;
  tables: Tables;
  reader: StoreReader;
  writer: Pick<Writer, "remove" | "assertChangeable">;
  clock: Clock;
  write<T>(fn: (tx: Transaction) => Sync<T>): Promise<T>;
}

/** `check` receives the row inside the transaction and throws to keep it. */
type Removal = (resource: AnyResource, id: string, by: ActorContext, check?: (row: AnyRow) => void) => Promise<void>;

/** Removes a row and its cascading dependants. */
export interface RowRemover {
  remove: Removal;
  /** Changes nothing; throws what `remove` would throw. */
  dryRun: Removal;
}

/** A reference with more dependants than one transaction removes. */
interface LargeReference {
  from: AnyResource;
  field: string;
  table: string;
  column: string;
  /**
   * Bulk statement for append-only rows, which leave no feed or audit entry; null for rows that are removed one by one.
   */
  bulkSql: string | null;
}

/** Up to this many dependants of one reference are removed in the row's own transaction; about 10 ms of work. */
const CHUNKING_THRESHOLD = 300;
/** Rows removed between two checks of the time budget. */
const CHUNK_SIZE = 50;

/**
 * Creates the remover of rows with any number of dependants. A dry run comes first, so that a refusal changes nothing.
 * Then the dependants are removed in chunks and the row last. A crash in between leaves the row and the remaining
 * dependants; the caller, who got no response, deletes again.
 * @source docs/decisions/0404-store-limits.md, Chunked work
 */
export function createRowRemover(deps: RowRemovalDeps): RowRemover {
  const { reader, writer, write } = deps;

  function removeInTransaction(
    { resource, id, by, check }: RemovalRequest,
    skip?: (from: AnyResource, field: string) => boolean,
  ): void {
    const row = reader.get(resource, id) as AnyRow | null;
    if (row) check?.(row);
    writer.assertChangeable(resource, id, by);
    writer.remove(resource, id, by, skip);
  }

  const findLargeReferences = ({ resource, id }: RemovalRequest): { pk: number; large: LargeReference[] } => {
    const row = reader.get(resource, id) as AnyRow | null;
    return { pk: row?.pk ?? 0, large: row ? largeReferences(deps, resource, row.pk) : [] };
  };
  const dryRunWithout = (request: RemovalRequest, large: readonly LargeReference[]): Promise<void> =>
    runAndRollBack(deps, () =>
      removeInTransaction(request, (from, field) => large.some((each) => each.from === from && each.field === field)),
    );

  return {
    async remove(resource, id, by, check) {
      const request = { resource, id, by, check };
      const { pk, large } = findLargeReferences(request);
      if (large.length > 0) {
        await dryRunWithout(request, large);
        for (const each of large) while (await write(() => removeChunk(deps, each, pk, by)));
      }
      await write(() => removeInTransaction(request));
    },
    dryRun(resource, id, by, check) {
      const request = { resource, id, by, check };
      return dryRunWithout(request, findLargeReferences(request).large);
    },
  };
}

interface RemovalRequest {
  resource: AnyResource;
  id: string;
  by: ActorContext;
  check: ((row: AnyRow) => void) | undefined;
}

function largeReferences({ reader, tables }: RowRemovalDeps, resource: AnyResource, pk: number): LargeReference[] {
  return tables.catalogue.inboundReferences(resource).flatMap(({ from, field }): LargeReference[] => {
    const { table, columnOf } = tables.layout(from);
    const column = columnOf(field);
    if (column?.spec.kind !== "ref" || column.spec.onDelete === "refuse") return [];
    const isCleared = column.spec.onDelete === "clear";
    if (isCleared && !from.appendOnly) return [];
    const among = `SELECT pk FROM ${table} WHERE ${column.name} = ?`;
    if (reader.one(`${among} LIMIT 1 OFFSET ${CHUNKING_THRESHOLD}`, pk) === null) return [];
    const change = isCleared ? `UPDATE main.${table} SET ${column.name} = NULL` : `DELETE FROM main.${table}`;
    const bulkSql = from.appendOnly ? `${change} WHERE pk IN (${among} LIMIT ${CHUNK_SIZE})` : null;
    return [{ from, field, table, column: column.name, bulkSql }];
  });
}

/**
 * Runs `removal` and rolls it back; throws what it throws. Foreign keys are deferred, so references may dangle inside.
 */
async function runAndRollBack({ db, write }: RowRemovalDeps, removal: () => void): Promise<void> {
  const undo = new BugError("dry run: roll back");
  const failed = await write(() => {
    db.pragma("defer_foreign_keys = ON");
    removal();
    throw undo;
  }).catch((error: unknown) => error);
  if (failed !== undo) throw failed;
}

/** Removes one chunk of dependants; false when none are left. */
function removeChunk(
  { reader, writer, clock, db }: RowRemovalDeps,
  large: LargeReference,
  pk: number,
  by: ActorContext,
): boolean {
  // Other writes get their turn between transactions. @source docs/decisions/0017-store.md, Long work
  const slice = createTimeSlice(clock);
  while (!slice.isOver()) {
    if (large.bulkSql !== null) {
      if (db.prepare(large.bulkSql).run(pk).changes === 0) return false;
      continue;
    }
    const rows = reader.all<{ id: string }>(
      `SELECT id FROM ${large.table} WHERE ${large.column} = ? LIMIT ${CHUNK_SIZE}`,
      pk,
    );
    if (rows.length === 0) return false;
    for (const { id } of rows) if (reader.get(large.from, id)) writer.remove(large.from, id, by);
  }
  return true;
}
