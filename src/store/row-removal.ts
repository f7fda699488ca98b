import type Database from "better-sqlite3";
import type { Clock } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Tables } from "./drizzle-tables.ts";
import type { AnyRow } from "./row-shape.ts";
import type { ActorContext, StoreReader, Sync, Transaction } from "./store.ts";
import type { Writer } from "./writer.ts";

/** What removing rows needs. */
export interface RowRemovalDeps {
  db: Database.Database;
  tables: Tables;
  reader: StoreReader;
  writer: Pick<Writer, "remove" | "assertChangeable">;
  clock: Clock;
  write<T>(fn: (tx: Transaction) => Sync<T>): Promise<T>;
}

/** `check` looks at the row in the transaction and throws to keep it. */
type Removal = (resource: AnyResource, id: string, by: ActorContext, check?: (row: AnyRow) => void) => Promise<void>;

/** Removes a row and what cascades from it. */
export interface RowRemover {
  remove: Removal;
  /** Does nothing but throw what `remove` would throw. */
  dryRun: Removal;
}

/** A reference that more rows hold than are let go in one transaction. */
interface LargeReference {
  from: AnyResource;
  field: string;
  table: string;
  column: string;
  /** Facts leave no trace of their own, so they are taken by the set; null for rows that are removed one by one. */
  fact: string | null;
}

/** Up to this many rows that hold one reference are let go with the row itself. own choice: about 10 ms of work */
const CHUNKING_THRESHOLD = 300;
/** Rows taken at once; between two the clock is asked. */
const CHUNK_SIZE = 50;
/** Longest work of one transaction, leaving others their turn. @source docs/decisions/0017-store.md, Writing */
const CHUNK_MS = 4;

/**
 * Makes the removal of rows with any number of dependants: it is rehearsed first, so that what is refused changes
 * nothing; then the many go in slices, the row itself last. own choice: a crash in between keeps the row with the
 * dependants that are left, and the caller, who got no answer, deletes again.
 */
export function createRowRemover(deps: RowRemovalDeps): RowRemover {
  const { reader, writer, write } = deps;

  function removeInTransaction(
    { resource, id, by, check }: RemovalRequest,
    leave?: (from: AnyResource, field: string) => boolean,
  ): void {
    const row = reader.get(resource, id) as AnyRow | null;
    if (row) check?.(row);
    writer.assertChangeable(resource, id, by);
    writer.remove(resource, id, by, leave);
  }

  const findLargeReferences = ({ resource, id }: RemovalRequest): { pk: number; large: LargeReference[] } => {
    const row = reader.get(resource, id) as AnyRow | null;
    return { pk: row?.pk ?? 0, large: row ? largeReferences(deps, resource, row.pk) : [] };
  };
  const dryRunWithout = (asked: RemovalRequest, large: readonly LargeReference[]): Promise<void> =>
    runAndRollBack(deps, () =>
      removeInTransaction(asked, (from, field) => large.some((each) => each.from === from && each.field === field)),
    );

  return {
    async remove(resource, id, by, check) {
      const asked = { resource, id, by, check };
      const { pk, large } = findLargeReferences(asked);
      if (large.length > 0) {
        await dryRunWithout(asked, large);
        for (const each of large) while (await write(() => removeChunk(deps, each, pk, by)));
      }
      await write(() => removeInTransaction(asked));
    },
    dryRun(resource, id, by, check) {
      const asked = { resource, id, by, check };
      return dryRunWithout(asked, findLargeReferences(asked).large);
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
    const fact = from.appendOnly ? `${change} WHERE pk IN (${among} LIMIT ${CHUNK_SIZE})` : null;
    return [{ from, field, table, column: column.name, fact }];
  });
}

/** Runs `removal` and undoes it; throws what it throws. References to the row may lead nowhere meanwhile. */
async function runAndRollBack({ db, write }: RowRemovalDeps, removal: () => void): Promise<void> {
  const undo = new BugError("A rehearsal is undone.");
  const failed = await write(() => {
    db.pragma("defer_foreign_keys = ON");
    removal();
    throw undo;
  }).catch((error: unknown) => error);
  if (failed !== undo) throw failed;
}

/** Lets go of some of the rows; false when none are left. */
function removeChunk(
  { reader, writer, clock, db }: RowRemovalDeps,
  large: LargeReference,
  pk: number,
  by: ActorContext,
): boolean {
  const began = clock.monotonicMs();
  while (clock.monotonicMs() - began < CHUNK_MS) {
    if (large.fact !== null) {
      if (db.prepare(large.fact).run(pk).changes === 0) return false;
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
