import type Database from "better-sqlite3";
import { BugError } from "../lib/errors.ts";
import { SHARED_POSITION } from "./key-fingerprint.ts";
import type { RowImage } from "./shared-log.ts";

/** Tracks which rows are written, and applies rows of other processes. */
export interface RowImages {
  /**
   * The rows written since the last `clearChanged`, in their current state. Call it inside the transaction that wrote
   * them.
   */
  changedRows(): RowImage[];
  /** Forgets the tracked rows after COMMIT. After a rollback they may stay tracked: their current state is sent. */
  clearChanged(): void;
  /** Applies rows of others and their position in one transaction, with foreign keys off. */
  apply(rows: readonly RowImage[], at: number): void;
  /** All rows in chunks; only one chunk is held in memory, and rows may be written in between. */
  all(): Generator<RowImage[]>;
  /** The row with this key, null if there is none; undefined for a table that is not shared. */
  find(table: string, key: string): string | null | undefined;
  /** Row counts of the shared tables. */
  counts(): ReadonlyMap<string, number>;
  /** Position in the shared log up to which this replica is complete; 0 if it was never shared. */
  position(): number;
  /** Stores the position; call it inside a transaction. */
  setPosition(at: number): void;
}

/** Tables of one replica alone: its identity, and the rows waiting for its search index. */
const LOCAL_TABLES: ReadonlySet<string> = new Set(["store_meta", "schema_migrations", "search_pending"]);
/** Tables identified by other columns than the primary key, which changes with every update. */
const KEY_OVERRIDES: Readonly<Record<string, readonly string[]>> = { changes: ["type", "row_id"] };
/** Tables whose rows never change; a trigger enforces it. */
const APPEND_ONLY_TABLES: ReadonlySet<string> = new Set(["audit_entries"]);
/** SQLite's table of the highest AUTOINCREMENT keys. @source sqlite.org/autoinc.html */
const SEQUENCES = "sqlite_sequence";
const CHUNK_SIZE = 2_000;

interface SharedTable {
  name: string;
  key: readonly string[];
  columns: readonly string[];
  get: Database.Statement;
  drop: Database.Statement;
  /** The first chunk in key order, and the chunk after a key. */
  first: Database.Statement;
  after: Database.Statement;
}

type Value = string | number | Buffer | null;

/** Installs the tracking triggers; `touched` is called for each applied row, which must be indexed again. */
export function createRowImages(db: Database.Database, touched: (table: string, pk: number) => void): RowImages {
  const tables = readTables(db);
  const byName = new Map(tables.map((table) => [table.name, table]));
  const written = new Map<string, { table: SharedTable; key: Value[] }>();
  const puts = new Map<string, Database.Statement>();
  const getAt = db.prepare("SELECT value FROM store_meta WHERE name = ?").pluck();
  const setAt = db.prepare("INSERT OR REPLACE INTO store_meta (name, value) VALUES (?, ?)");
  const sequences = db.prepare(`SELECT name, seq FROM ${SEQUENCES}`);
  let known = new Map<string, number>();
  let isApplying = false;

  db.function("row_written", { varargs: true }, (number: unknown, ...key: unknown[]) => {
    if (isApplying) return null;
    const table = tables[number as number] as SharedTable;
    written.set(`${table.name} ${JSON.stringify(key)}`, { table, key: key as Value[] });
    return null;
  });
  // Without it, REPLACE deletes a row without firing its DELETE trigger.
  db.pragma("recursive_triggers = ON");
  for (const [number, table] of tables.entries()) createTriggers(db, number, table);

  function readChangedRows(): RowImage[] {
    const rows = [...written.values()].map(({ table, key }) => {
      const row = table.get.get(...key) as Record<string, Value> | undefined;
      return { table: table.name, key: JSON.stringify(key), image: row ? encodeImage(row) : null };
    });
    return rows.length === 0 ? rows : [...rows, ...changedSequences()];
  }

  const readSequences = (): Map<string, number> =>
    new Map((sequences.all() as { name: string; seq: number }[]).map(({ name, seq }) => [name, seq]));

  /** Changed AUTOINCREMENT counters, also of tables whose new rows are deleted again. */
  function changedSequences(): RowImage[] {
    return [...readSequences()].flatMap(([name, seq]) =>
      known.get(name) === seq || !byName.has(name)
        ? []
        : [{ table: SEQUENCES, key: JSON.stringify([name]), image: JSON.stringify({ name, seq }) }],
    );
  }

  function apply(rows: readonly RowImage[], at: number): void {
    db.pragma("foreign_keys = OFF");
    isApplying = true;
    try {
      db.transaction(() => {
        for (const row of rows) write(row);
        setAt.run(SHARED_POSITION, String(at));
      }).immediate();
    } finally {
      isApplying = false;
      db.pragma("foreign_keys = ON");
    }
  }

  function write({ table: name, key, image }: RowImage): void {
    if (name === SEQUENCES) setSequence(image);
    const table = byName.get(name);
    // A table that this version no longer has.
    if (!table) return;
    const parts = JSON.parse(key) as Value[];
    if (table.key.length === 1 && table.key[0] === "pk") touched(name, parts[0] as number);
    if (image === null) table.drop.run(...parts);
    else put(table, parts, image);
  }

  function put(table: SharedTable, parts: readonly Value[], image: string): void {
    const { name } = table;
    if (APPEND_ONLY_TABLES.has(name) && table.get.get(...parts)) return;
    const row = decodeImage(image);
    const columns = table.columns.filter((column) => column in row);
    const shape = `${name} ${columns.join()}`;
    const statement = puts.get(shape) ?? db.prepare(upsertSql(name, columns));
    puts.set(shape, statement);
    // Another row may hold the primary key in a table that is identified by other columns.
    if (name in KEY_OVERRIDES) table.drop.run(...parts);
    statement.run(...columns.map((column) => row[column]));
  }

  function setSequence(image: string | null): void {
    const { name, seq } = JSON.parse(image ?? "{}") as { name: string; seq: number };
    const { changes } = db.prepare(`UPDATE ${SEQUENCES} SET seq = max(seq, ?) WHERE name = ?`).run(seq, name);
    if (changes === 0) db.prepare(`INSERT INTO ${SEQUENCES} (name, seq) VALUES (?, ?)`).run(name, seq);
  }

  return {
    changedRows: readChangedRows,
    apply,
    clearChanged() {
      written.clear();
      known = readSequences();
    },
    *all() {
      for (const table of tables) {
        let rows = table.first.all() as Record<string, Value>[];
        while (rows.length > 0) {
          const keys = rows.map((row) => table.key.map((column) => row[column] as Value));
          yield rows.map((row, at) => ({ table: table.name, key: JSON.stringify(keys[at]), image: encodeImage(row) }));
          rows = rows.length < CHUNK_SIZE ? [] : (table.after.all(...(keys.at(-1) ?? [])) as Record<string, Value>[]);
        }
      }
      yield changedSequences();
    },
    find(name, key) {
      const table = byName.get(name);
      if (!table) return undefined;
      const row = table.get.get(...(JSON.parse(key) as Value[])) as Record<string, Value> | undefined;
      return row ? encodeImage(row) : null;
    },
    counts: () =>
      new Map(
        tables.map(({ name }) => [name, db.prepare(`SELECT count(*) FROM main."${name}"`).pluck().get() as number]),
      ),
    position: () => Number(getAt.get(SHARED_POSITION) ?? 0),
    setPosition: (at) => void setAt.run(SHARED_POSITION, String(at)),
  };
}

/** All shared tables; full-text indexes are derived from the rows and not shared. */
function readTables(db: Database.Database): SharedTable[] {
  const names = db
    .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name")
    .pluck()
    .all() as string[];
  return names
    .filter((name) => !name.startsWith("sqlite_") && !LOCAL_TABLES.has(name))
    .map((name) => {
      const info = db.pragma(`table_info("${name}")`) as { name: string; pk: number }[];
      const primary = info.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
      const key = KEY_OVERRIDES[name] ?? primary.map((column) => column.name);
      if (key.length === 0) throw new BugError(`table ${name} must have a primary key`);
      const isKey = key.map((column) => `"${column}" = ?`).join(" AND ");
      const keys = key.map((column) => `"${column}"`).join(", ");
      const inOrder = `ORDER BY ${keys} LIMIT ${CHUNK_SIZE}`;
      return {
        ...{ name, key, columns: info.map((column) => column.name) },
        get: db.prepare(`SELECT * FROM main."${name}" WHERE ${isKey}`),
        drop: db.prepare(`DELETE FROM main."${name}" WHERE ${isKey}`),
        first: db.prepare(`SELECT * FROM main."${name}" ${inOrder}`),
        after: db.prepare(
          `SELECT * FROM main."${name}" WHERE (${keys}) > (${key.map(() => "?").join(", ")}) ${inOrder}`,
        ),
      };
    });
}

function createTriggers(db: Database.Database, number: number, { name, key }: SharedTable): void {
  const recordSql = (of: "OLD" | "NEW"): string =>
    `SELECT row_written(${number}, ${key.map((column) => `${of}."${column}"`).join(", ")});`;
  const on = (what: string, body: string): string =>
    `CREATE TEMP TRIGGER "written_${what}_${number}" AFTER ${what} ON main."${name}" BEGIN ${body} END;`;
  db.exec(
    on("INSERT", recordSql("NEW")) + on("UPDATE", recordSql("OLD") + recordSql("NEW")) + on("DELETE", recordSql("OLD")),
  );
}

function upsertSql(table: string, columns: readonly string[]): string {
  const names = columns.map((column) => `"${column}"`).join(", ");
  return `INSERT OR REPLACE INTO main."${table}" (${names}) VALUES (${columns.map(() => "?").join(", ")})`;
}

function encodeImage(row: Record<string, Value>): string {
  return JSON.stringify(row, (_, value: unknown) => {
    const { type, data } = (value ?? {}) as { type?: string; data?: number[] };
    return type === "Buffer" && data ? { base64: Buffer.from(data).toString("base64") } : value;
  });
}

function decodeImage(image: string): Record<string, Value> {
  return JSON.parse(image, (_, value: unknown) => {
    const { base64 } = (value ?? {}) as { base64?: string };
    return base64 === undefined ? value : Buffer.from(base64, "base64");
  }) as Record<string, Value>;
}
