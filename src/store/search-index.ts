import type Database from "better-sqlite3";
import type { Log } from "../lib/log.ts";
import { isFullTextSearched } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import { createTokenMatcher } from "./search-tokens.ts";
import type { TableColumn, TableLayout } from "./table-layout.ts";
import type { Tables } from "./tables.ts";

/**
 * The full-text index behind `q`. Each searchable resource has an FTS5 table `<table>__search`. A changed row is added
 * to `search_pending` in its own transaction and matched there by the SQL function `holds_words` until it is indexed,
 * so searches are always current while indexing follows in chunks.
 * Append-only resources are not indexed unless their declaration asks for it: they are written in bulk and listed below
 * their parent only; searches over them scan in chunks (`pageInChunks`). If you write an indexed text column with raw
 * SQL, also insert the row into `search_pending`.
 * @source docs/decisions/0404-store-limits.md, Search
 */
export interface SearchIndex {
  /** Call it inside the transaction that wrote the row; `after` is null for a deleted row. */
  markChanged(resource: AnyResource, before: IndexedRow | null, after: IndexedRow | null): void;
  /**
   * Call it inside a transaction, right before COMMIT: indexes a chunk of the pending rows. True when enough rows are
   * left to continue at once.
   */
  indexPending(): boolean;
  /** True when enough rows are pending to index them now. */
  isBehind(): boolean;
}

/** The columns that decide whether a row must be indexed again. */
export type IndexedRow = Readonly<Record<string, unknown>> & { pk: number };

/**
 * Pending rows that trigger indexing. One index segment per row would cost more than the row; this many pending rows
 * are searched in well under 1 ms.
 */
const INDEX_THRESHOLD = 256;
/** Rows indexed before one COMMIT: 3 ms of work, 6 ms for texts of 1 KB. */
const INDEX_CHUNK_SIZE = 320;

/** The text columns that `q` searches, in declaration order. */
export function searchedColumns(layout: TableLayout): readonly TableColumn[] {
  return layout.columns.filter(({ spec }) => isFullTextSearched(spec));
}

/** True when the resource has a full-text index. */
export function isIndexed(layout: TableLayout): boolean {
  const { appendOnly, fullTextSearched } = layout.resource;
  return (!appendOnly || fullTextSearched === true) && searchedColumns(layout).length > 0;
}

/** Name of the full-text index table. */
export function searchTable(layout: TableLayout): string {
  return `${layout.table}__search`;
}

/**
 * The statement that creates an index. Without an index of prefixes, a search for one letter merges the entries of all
 * words that begin with it: 13 ms for 100,000 rows, for each such word of a search.
 */
function indexDefinition(layout: TableLayout): string {
  const columns = searchedColumns(layout).map(({ name }) => `"${name}"`);
  return `CREATE VIRTUAL TABLE ${searchTable(layout)} USING fts5(${columns.join(", ")}, content='', contentless_delete=1, detail=column, prefix='1 2 3', tokenize='unicode61 remove_diacritics 2')`;
}

/** Creates missing indexes and recreates those whose definition changed; all their rows become pending. */
function createSearchTables(db: Database.Database, tables: Tables): void {
  db.exec(
    "CREATE TABLE IF NOT EXISTS search_pending (type TEXT NOT NULL, pk INTEGER NOT NULL, PRIMARY KEY (type, pk)) STRICT, WITHOUT ROWID",
  );
  const present = db.prepare("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?").pluck();
  for (const layout of tables.layouts.filter(isIndexed)) {
    const index = searchTable(layout);
    const definition = indexDefinition(layout);
    if (present.get(index) === definition) continue;
    db.exec(`DROP TABLE IF EXISTS ${index}`);
    db.exec(definition);
    db.prepare(`INSERT OR IGNORE INTO search_pending SELECT ?, pk FROM ${layout.table}`).run(layout.table);
  }
}

/** Opens the index of every resource; the resource tables must exist. */
export function createSearchIndex(db: Database.Database, tables: Tables, log: Log): SearchIndex {
  db.function("holds_words", { deterministic: true, varargs: true }, createTokenMatcher());
  db.transaction(() => createSearchTables(db, tables)).immediate();
  const mark = db.prepare("INSERT OR IGNORE INTO search_pending VALUES (?, ?)");
  const isThresholdReached = db
    .prepare(`SELECT count(*) = ${INDEX_THRESHOLD} FROM (SELECT 1 FROM search_pending LIMIT ${INDEX_THRESHOLD})`)
    .pluck();
  const pendingTables = db.prepare("SELECT DISTINCT type FROM search_pending").pluck();
  const indexers = new Map(tables.layouts.filter(isIndexed).map((layout) => [layout.table, createIndexer(db, layout)]));
  const fieldsOf = new Map(
    tables.layouts
      .filter(isIndexed)
      .map((layout) => [layout.resource, searchedColumns(layout).map(({ field }) => field)]),
  );
  let broken = false;

  function indexSome(): void {
    let left = INDEX_CHUNK_SIZE;
    for (const type of pendingTables.all() as string[]) {
      if (left > 0) left -= indexers.get(type)?.(left) ?? 0;
    }
  }

  const isBehind = (): boolean => !broken && isThresholdReached.get() === 1;
  return {
    isBehind,
    markChanged(resource, before, after) {
      const fields = fieldsOf.get(resource);
      if (!fields || (before && after && fields.every((field) => before[field] === after[field]))) return;
      mark.run(tables.layout(resource).table, ((after ?? before) as IndexedRow).pk);
    },
    indexPending() {
      if (!isBehind()) return false;
      db.exec("SAVEPOINT search");
      try {
        indexSome();
      } catch (error) {
        // The index is derived data: its errors must not fail a write.
        if (!db.inTransaction) throw error;
        db.exec("ROLLBACK TO search");
        broken = true;
        log.error(
          { event: "store.search_index_failed", err: error },
          "search index update failed; indexing stopped, searches scan pending rows",
        );
      }
      db.exec("RELEASE search");
      return isBehind();
    },
  };
}

/** Indexes up to `maxRows` pending rows of one table; returns how many. */
function createIndexer(db: Database.Database, layout: TableLayout): (maxRows: number) => number {
  const index = searchTable(layout);
  const names = searchedColumns(layout)
    .map(({ name }) => `"${name}"`)
    .join(", ");
  const selected = `SELECT pk FROM search_pending WHERE type = '${layout.table}' AND pk <= ?`;
  const nth = db
    .prepare(
      `SELECT max(pk), count(*) FROM (SELECT pk FROM search_pending WHERE type = '${layout.table}' ORDER BY pk LIMIT ?)`,
    )
    .raw();
  const deleteOld = db.prepare(`DELETE FROM ${index} WHERE rowid IN (${selected})`);
  const add = db.prepare(
    `INSERT INTO ${index} (rowid, ${names}) SELECT pk, ${names} FROM ${layout.table} WHERE pk IN (${selected})`,
  );
  const clearPending = db.prepare(`DELETE FROM search_pending WHERE type = '${layout.table}' AND pk <= ?`);
  return (maxRows) => {
    const [last, count] = nth.get(maxRows) as [number | null, number];
    if (last === null) return 0;
    deleteOld.run(last);
    add.run(last);
    clearPending.run(last);
    return count;
  };
}
