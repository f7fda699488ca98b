import type Database from "better-sqlite3";
import type { Log } from "../lib/log.ts";
import { isFullTextSearched } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { Tables } from "./drizzle-tables.ts";
import { createTokenMatcher } from "./search-tokens.ts";
import type { TableColumn, TableLayout } from "./table-layout.ts";

/**
 * The full-text index behind `q`. Each searched resource has a table `<table>__search`; rows that changed since they were
 * indexed stand in `search_pending`, written with the row itself, and are searched there by the SQL function
 * `holds_words`. So a search is right at any moment, while indexing may follow in slices.
 *
 * own choice: facts are not indexed unless their declaration says so, since rooms write them in bulk and they are listed
 * below their parent alone; a search over them goes in slices (`pageOfFacts`). Who writes a searched text of another resource with SQL of its own puts the row into `search_pending`.
 */
export interface SearchIndex {
  /** Inside the transaction that wrote the row; `after` is null once it is gone. */
  markChanged(resource: AnyResource, before: IndexedRow | null, after: IndexedRow | null): void;
  /** Inside a transaction, right before COMMIT: indexes some of the waiting rows. True when enough are left to go on at once. */
  indexPending(): boolean;
  /** True when enough rows wait to index them now. */
  isBehind(): boolean;
}

/** What of a row decides whether it is indexed anew. */
export type IndexedRow = Readonly<Record<string, unknown>> & { pk: number };

/** own choice: a segment of the index for each row would cost more than the row; so many are searched in well under 1 ms. */
const INDEX_THRESHOLD = 256;
/** Rows indexed before one COMMIT. own choice: 3 ms of work, twice as much for texts of 1 KB */
const INDEX_CHUNK_SIZE = 320;

/** The text fields that `q` searches, in the declaration's order. */
export function searchedColumns(layout: TableLayout): readonly TableColumn[] {
  return layout.columns.filter(({ spec }) => isFullTextSearched(spec));
}

/** True when the resource's texts are in a full-text index. */
export function isIndexed(layout: TableLayout): boolean {
  const { appendOnly, fullTextSearched } = layout.resource;
  return (!appendOnly || fullTextSearched === true) && searchedColumns(layout).length > 0;
}

/** Name of the index of a layout's table. */
export function searchTable(layout: TableLayout): string {
  return `${layout.table}__search`;
}

/** Makes missing indexes, and anew those whose fields are no longer the declaration's: all their rows wait to be indexed. */
function createSearchTables(db: Database.Database, tables: Tables): void {
  db.exec(
    "CREATE TABLE IF NOT EXISTS search_pending (type TEXT NOT NULL, pk INTEGER NOT NULL, PRIMARY KEY (type, pk)) STRICT, WITHOUT ROWID",
  );
  const present = db
    .prepare("SELECT group_concat(name, ',') FROM (SELECT name FROM pragma_table_info(?) ORDER BY cid)")
    .pluck();
  for (const layout of tables.layouts.filter(isIndexed)) {
    const index = searchTable(layout);
    const columns = searchedColumns(layout).map(({ name }) => name);
    if (present.get(index) === columns.join(",")) continue;
    db.exec(`DROP TABLE IF EXISTS ${index}`);
    db.exec(
      `CREATE VIRTUAL TABLE ${index} USING fts5(${columns.map((name) => `"${name}"`).join(", ")},
        content='', contentless_delete=1, detail=column, tokenize='unicode61 remove_diacritics 2')`,
    );
    db.prepare(`INSERT OR IGNORE INTO search_pending SELECT ?, pk FROM ${layout.table}`).run(layout.table);
  }
}

/** Opens the index of every declaration, whose tables are there. */
export function createSearchIndex(db: Database.Database, tables: Tables, log: Log): SearchIndex {
  db.function("holds_words", { deterministic: true, varargs: true }, createTokenMatcher());
  db.transaction(() => createSearchTables(db, tables)).immediate();
  const mark = db.prepare("INSERT OR IGNORE INTO search_pending VALUES (?, ?)");
  const enough = db
    .prepare(`SELECT count(*) = ${INDEX_THRESHOLD} FROM (SELECT 1 FROM search_pending LIMIT ${INDEX_THRESHOLD})`)
    .pluck();
  const waitingTypes = db.prepare("SELECT DISTINCT type FROM search_pending").pluck();
  const indexers = new Map(tables.layouts.filter(isIndexed).map((layout) => [layout.table, createIndexer(db, layout)]));
  const fieldsOf = new Map(
    tables.layouts
      .filter(isIndexed)
      .map((layout) => [layout.resource, searchedColumns(layout).map(({ field }) => field)]),
  );
  let broken = false;

  function indexSome(): void {
    let left = INDEX_CHUNK_SIZE;
    for (const type of waitingTypes.all() as string[]) {
      if (left > 0) left -= indexers.get(type)?.(left) ?? 0;
    }
  }

  const isBehind = (): boolean => !broken && enough.get() === 1;
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
        // The index follows from the rows: no fault of it may keep anything from being written.
        if (!db.inTransaction) throw error;
        db.exec("ROLLBACK TO search");
        broken = true;
        log.error({ err: error }, "search index is broken; searches go on without it");
      }
      db.exec("RELEASE search");
      return isBehind();
    },
  };
}

/** Indexes up to `most` waiting rows of one table and returns how many. */
function createIndexer(db: Database.Database, layout: TableLayout): (most: number) => number {
  const index = searchTable(layout);
  const names = searchedColumns(layout)
    .map(({ name }) => `"${name}"`)
    .join(", ");
  const chosen = `SELECT pk FROM search_pending WHERE type = '${layout.table}' AND pk <= ?`;
  const nth = db
    .prepare(
      `SELECT max(pk), count(*) FROM (SELECT pk FROM search_pending WHERE type = '${layout.table}' ORDER BY pk LIMIT ?)`,
    )
    .raw();
  const forget = db.prepare(`DELETE FROM ${index} WHERE rowid IN (${chosen})`);
  const add = db.prepare(
    `INSERT INTO ${index} (rowid, ${names}) SELECT pk, ${names} FROM ${layout.table} WHERE pk IN (${chosen})`,
  );
  const done = db.prepare(`DELETE FROM search_pending WHERE type = '${layout.table}' AND pk <= ?`);
  return (most) => {
    const [last, count] = nth.get(most) as [number | null, number];
    if (last === null) return 0;
    forget.run(last);
    add.run(last);
    done.run(last);
    return count;
  };
}
