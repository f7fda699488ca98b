import type Database from "better-sqlite3";
import type { Clock } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { AnyRow } from "./rows.ts";
import type { By, Reader, Sync, Transaction } from "./store.ts";
import type { Tables } from "./tables.ts";
import type { Writer } from "./writer.ts";

/** What removing rows needs. */
export interface RemovalNeeds {
  db: Database.Database;
  tables: Tables;
  reader: Reader;
  writer: Pick<Writer, "remove" | "requireChangeable">;
  clock: Clock;
  write<T>(fn: (tx: Transaction) => Sync<T>): Promise<T>;
}

/** `check` looks at the row in the transaction and throws to keep it. */
type Removal = (resource: AnyResource, id: string, by: By, check?: (row: AnyRow) => void) => Promise<void>;

/** Removes a row and what cascades from it. */
export interface Removals {
  remove: Removal;
  /** Does nothing but throw what `remove` would throw. */
  rehearse: Removal;
}

/** A reference that more rows hold than are let go in one transaction. */
interface Large {
  from: AnyResource;
  field: string;
  table: string;
  column: string;
  /** Facts leave no trace of their own, so they are taken by the set; null for rows that are removed one by one. */
  fact: string | null;
}

/** Up to this many rows that hold one reference are let go with the row itself. own choice: about 10 ms of work */
const MANY = 300;
/** Rows taken at once; between two the clock is asked. */
const ROWS = 50;
/** Longest work of one transaction, leaving others their turn. @source interfaces.md, Writing and reading */
const SLICE_MS = 4;

/**
 * Makes the removal of rows with any number of dependants: it is rehearsed first, so that what is refused changes
 * nothing; then the many go in slices, the row itself last. own choice: a crash in between keeps the row with the
 * dependants that are left, and the caller, who got no answer, deletes again.
 */
export function createRemoval(needs: RemovalNeeds): Removals {
  const { reader, writer, write } = needs;

  function removeNow({ resource, id, by, check }: Asked, leave?: (from: AnyResource, field: string) => boolean): void {
    const row = reader.get(resource, id) as AnyRow | null;
    if (row) check?.(row);
    writer.requireChangeable(resource, id, by);
    writer.remove(resource, id, by, leave);
  }

  const largeOf = ({ resource, id }: Asked): { pk: number; large: Large[] } => {
    const row = reader.get(resource, id) as AnyRow | null;
    return { pk: row?.pk ?? 0, large: row ? largeReferences(needs, resource, row.pk) : [] };
  };
  const rehearseWithout = (asked: Asked, large: readonly Large[]): Promise<void> =>
    rehearse(needs, () =>
      removeNow(asked, (from, field) => large.some((each) => each.from === from && each.field === field)),
    );

  return {
    async remove(resource, id, by, check) {
      const asked = { resource, id, by, check };
      const { pk, large } = largeOf(asked);
      if (large.length > 0) {
        await rehearseWithout(asked, large);
        for (const each of large) while (await write(() => takeSlice(needs, each, pk, by)));
      }
      await write(() => removeNow(asked));
    },
    rehearse(resource, id, by, check) {
      const asked = { resource, id, by, check };
      return rehearseWithout(asked, largeOf(asked).large);
    },
  };
}

interface Asked {
  resource: AnyResource;
  id: string;
  by: By;
  check: ((row: AnyRow) => void) | undefined;
}

function largeReferences({ reader, tables }: RemovalNeeds, resource: AnyResource, pk: number): Large[] {
  return tables.catalogue.inbound(resource).flatMap(({ from, field }): Large[] => {
    const { table, columnOf } = tables.layout(from);
    const column = columnOf(field);
    if (column?.spec.kind !== "ref" || column.spec.onDelete === "refuse") return [];
    const isCleared = column.spec.onDelete === "clear";
    if (isCleared && !from.facts) return [];
    const among = `SELECT pk FROM ${table} WHERE ${column.name} = ?`;
    if (reader.one(`${among} LIMIT 1 OFFSET ${MANY}`, pk) === null) return [];
    const change = isCleared ? `UPDATE main.${table} SET ${column.name} = NULL` : `DELETE FROM main.${table}`;
    const fact = from.facts ? `${change} WHERE pk IN (${among} LIMIT ${ROWS})` : null;
    return [{ from, field, table, column: column.name, fact }];
  });
}

/** Runs `removal` and undoes it; throws what it throws. References to the row may lead nowhere meanwhile. */
async function rehearse({ db, write }: RemovalNeeds, removal: () => void): Promise<void> {
  const undo = new BugError("A rehearsal is undone.");
  const failed = await write(() => {
    db.pragma("defer_foreign_keys = ON");
    removal();
    throw undo;
  }).catch((error: unknown) => error);
  if (failed !== undo) throw failed;
}

/** Lets go of some of the rows; false when none are left. */
function takeSlice({ reader, writer, clock, db }: RemovalNeeds, large: Large, pk: number, by: By): boolean {
  const began = clock.monotonicMs();
  while (clock.monotonicMs() - began < SLICE_MS) {
    if (large.fact !== null) {
      if (db.prepare(large.fact).run(pk).changes === 0) return false;
      continue;
    }
    const rows = reader.all<{ id: string }>(
      `SELECT id FROM ${large.table} WHERE ${large.column} = ? LIMIT ${ROWS}`,
      pk,
    );
    if (rows.length === 0) return false;
    for (const { id } of rows) if (reader.get(large.from, id)) writer.remove(large.from, id, by);
  }
  return true;
}
