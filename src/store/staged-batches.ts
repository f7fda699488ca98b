import type Database from "better-sqlite3";
import { BugError, ConflictError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { AnyRow } from "./row-shape.ts";
import type { ActorContext, StagedBatch, StoreReader, Sync, Transaction } from "./store.ts";
import type { TableLayout } from "./table-layout.ts";
import type { Tables } from "./tables.ts";
import type { Writer } from "./writer.ts";

/** Dependencies of staged batches. */
export interface StagedBatchDeps {
  db: Database.Database;
  tables: Tables;
  reader: StoreReader;
  writer: Pick<Writer, "createStaged" | "announce" | "resetCaches">;
  write<T>(fn: (tx: Transaction) => Sync<T>): Promise<T>;
  /** Keep staged rows at start: they belong to another running process. */
  keepLeftovers?: boolean;
}

/** Staged batches: rows that stay invisible until the whole batch is published. */
export interface StagedBatches {
  open(id: string, resources: readonly AnyResource[]): Promise<StagedBatch>;
  announce(id: string, by: ActorContext, signal?: AbortSignal): Promise<void>;
  /** Internal key of a new row outside the batch; null when the database assigns it. */
  nextKeyFor(table: string): number | null;
}

/** Internal keys that a batch reserves in each of its tables: the maximum number of its rows. */
const KEYS_PER_BATCH = 2_000_000;
/** Rows announced or removed in one transaction, including their search index; 2 to 8 ms of work. */
const ANNOUNCE_CHUNK_SIZE = 25;
const REMOVE_CHUNK_SIZE = 80;

/** Open batches and their key ranges. */
export const BATCH_TABLE = `CREATE TABLE IF NOT EXISTS staged_batches (id TEXT NOT NULL, resource TEXT NOT NULL, first INTEGER NOT NULL,
  last INTEGER NOT NULL, published INTEGER NOT NULL, PRIMARY KEY (id, resource)) STRICT, WITHOUT ROWID`;

interface KeyRange {
  resource: string;
  first: number;
  last: number;
}

interface OpenRange extends KeyRange {
  /** Next key for rows outside the batch. */
  nextKey: number;
}

/**
 * Opens the staged batches of a database and removes what an interrupted batch left. While a batch is open, a temporary
 * view shadows each of its tables and filters out the staged keys, so every statement sees only published rows. Raw SQL
 * that writes such a table must name `main.<table>`.
 */
export function createStagedBatches(deps: StagedBatchDeps): StagedBatches {
  const { db, tables, reader, writer, write } = deps;
  db.exec(BATCH_TABLE);
  if (!deps.keepLeftovers) removeLeftovers(db, tables);
  let hidden: Map<string, OpenRange> | null = null;
  let isInside = false;
  const bound = (end: "first" | "last", none: number) => (table: unknown) =>
    isInside ? none : (hidden?.get(String(table))?.[end] ?? none);
  // Deterministic: SQLite evaluates them once per statement.
  db.function("hidden_first", { deterministic: true }, bound("first", 0));
  db.function("hidden_last", { deterministic: true }, bound("last", -1));

  const layoutOf = (resource: string): TableLayout => tables.layout(tables.catalogue.byName(resource));

  function dropViews(): void {
    for (const table of hidden?.keys() ?? []) db.exec(`DROP VIEW IF EXISTS temp.${table}`);
  }

  async function open(id: string, resources: readonly AnyResource[]): Promise<StagedBatch> {
    if (hidden) throw new ConflictError(sentence("error.another-upload-or-import-is-already-running"));
    const ranges = new Map<string, OpenRange>();
    hidden = ranges;
    try {
      await write(() => {
        for (const resource of resources)
          ranges.set(tables.layout(resource).table, reserveKeys(db, tables, id, resource));
      });
    } catch (error) {
      hidden = null;
      throw error;
    }
    return batch(id, ranges);
  }

  function batch(id: string, ranges: ReadonlyMap<string, KeyRange>): StagedBatch {
    const next = new Map([...ranges.values()].map(({ resource, first }) => [resource, first]));
    const create = (resource: AnyResource, input: object, by: ActorContext, system: object): AnyRow => {
      const pk = next.get(resource.name) as number;
      if (pk >= (ranges.get(tables.layout(resource).table) as KeyRange).last)
        throw new BugError(`a batch must not have more than ${KEYS_PER_BATCH} rows per table`);
      db.exec("SAVEPOINT hidden_row");
      try {
        const row = writer.createStaged(resource, input, by, system, pk);
        next.set(resource.name, pk + 1);
        return row;
      } catch (error) {
        if (db.inTransaction) db.exec("ROLLBACK TO hidden_row");
        throw error;
      } finally {
        if (db.inTransaction) db.exec("RELEASE hidden_row");
      }
    };
    const end = (): void => {
      hidden = null;
      writer.resetCaches();
    };
    return {
      async write(fn) {
        const keys = new Map(next);
        try {
          return await write((tx) => {
            const inBatch: Transaction = Object.assign(Object.create(tx) as Transaction, {
              create: (resource: AnyResource, input: object, by: ActorContext, system: object = {}) =>
                next.has(resource.name)
                  ? create(resource, input, by, system)
                  : tx.create(resource, input, by, system as never),
            });
            isInside = true;
            try {
              return fn(inBatch);
            } finally {
              isInside = false;
            }
          });
        } catch (error) {
          for (const [name, pk] of keys) next.set(name, pk);
          throw error;
        }
      },
      async publish(alongside) {
        await write((tx) => {
          dropViews();
          db.prepare("UPDATE staged_batches SET published = 1 WHERE id = ?").run(id);
          tx.emit("batch.published", { resources: [...next.keys()] });
          alongside?.(tx);
        });
        end();
      },
      async discard(alongside) {
        for (const range of [...ranges.values()].reverse()) while (await write(() => removeChunk(range)));
        await write((tx) => {
          dropViews();
          db.prepare("DELETE FROM staged_batches WHERE id = ?").run(id);
          alongside?.(tx);
        });
        end();
      },
    };
  }

  function removeChunk(range: KeyRange): boolean {
    const layout = layoutOf(range.resource);
    const pks = `SELECT pk FROM main.${layout.table} WHERE pk BETWEEN ? AND ? LIMIT ${REMOVE_CHUNK_SIZE}`;
    for (const { table } of layout.links) {
      db.prepare(`DELETE FROM ${table} WHERE owner IN (${pks})`).run(range.first, range.last);
    }
    const { changes } = db
      .prepare(`DELETE FROM main.${layout.table} WHERE pk IN (${pks})`)
      .run(range.first, range.last);
    return changes > 0;
  }

  /** Resumes after a crash: announced rows are no longer in the range. */
  async function announce(id: string, by: ActorContext, signal?: AbortSignal): Promise<void> {
    for (const { resource, last } of rangesOf(db, "id = ? AND published = 1", id)) {
      while (await write(() => announceChunk(id, tables.catalogue.byName(resource), last, by)))
        signal?.throwIfAborted();
    }
  }

  function announceChunk(id: string, resource: AnyResource, last: number, by: ActorContext): boolean {
    const first = db
      .prepare("SELECT first FROM staged_batches WHERE id = ? AND resource = ?")
      .pluck()
      .get(id, resource.name) as number;
    const { table } = tables.layout(resource);
    const pks = reader.all<{ pk: number }>(
      `SELECT pk FROM ${table} WHERE pk BETWEEN ? AND ? ORDER BY pk LIMIT ${ANNOUNCE_CHUNK_SIZE}`,
      first,
      last,
    );
    const newest = pks.at(-1);
    if (!newest) {
      db.prepare("DELETE FROM staged_batches WHERE id = ? AND resource = ?").run(id, resource.name);
      return false;
    }
    const rows = reader.getByPks(
      resource,
      pks.map(({ pk }) => pk),
    );
    for (const row of rows.sort((a, b) => a.pk - b.pk)) writer.announce(resource, row as unknown as AnyRow, by);
    db.prepare("UPDATE staged_batches SET first = ? WHERE id = ? AND resource = ?").run(
      newest.pk + 1,
      id,
      resource.name,
    );
    return true;
  }

  function nextKeyFor(table: string): number | null {
    const range = hidden?.get(table);
    return range ? range.nextKey++ : null;
  }

  return { open, announce, nextKeyFor };
}

/** Reserves the next keys of a table; other rows get keys above the range. */
function reserveKeys(db: Database.Database, tables: Tables, id: string, resource: AnyResource): OpenRange {
  const { table } = tables.layout(resource);
  const first = db.prepare(`SELECT coalesce(max(pk), 0) + 1 FROM main.${table}`).pluck().get() as number;
  const last = first + KEYS_PER_BATCH;
  db.prepare("INSERT INTO staged_batches VALUES (?, ?, ?, ?, 0)").run(id, resource.name, first, last);
  db.exec(
    `CREATE TEMP VIEW ${table} AS SELECT * FROM main.${table} WHERE pk NOT BETWEEN hidden_first('${table}') AND hidden_last('${table}')`,
  );
  return { resource: resource.name, first, last, nextKey: last + 1 };
}

function rangesOf(db: Database.Database, condition: string, ...params: string[]): KeyRange[] {
  return db
    .prepare(`SELECT resource, first, last FROM staged_batches WHERE ${condition} ORDER BY first`)
    .all(...params) as KeyRange[];
}

function removeLeftovers(db: Database.Database, tables: Tables): void {
  db.transaction(() => {
    db.pragma("defer_foreign_keys = ON");
    for (const { resource, first, last } of rangesOf(db, "published = 0")) {
      if (!tables.catalogue.has(resource)) continue;
      const { table, links } = tables.layout(tables.catalogue.byName(resource));
      for (const link of links) db.prepare(`DELETE FROM ${link.table} WHERE owner BETWEEN ? AND ?`).run(first, last);
      db.prepare(`DELETE FROM main.${table} WHERE pk BETWEEN ? AND ?`).run(first, last);
    }
    db.exec("DELETE FROM staged_batches WHERE published = 0");
  }).immediate();
}
