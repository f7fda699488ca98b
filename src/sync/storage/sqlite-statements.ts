import type { SqlValue } from "../../store/store.ts";
import type { Collection, ColumnType, KeyPart, ScanRange } from "./transaction-program.ts";

/** A record of a collection, by its columns. */
export type StoredRecord = Readonly<Record<string, unknown>>;

/** The statements of a collection; each is written out once, so that the store finds it prepared. */
interface CollectionStatements {
  columns: readonly (readonly [name: string, kind: ColumnType])[];
  /** Columns that hold JSON. */
  json: readonly string[];
  get: string;
  put: string;
  drop: string;
  scan(range: ScanRange): string;
}

/** Name of the SQL index behind an index of a collection. */
export function indexName({ name }: Pick<Collection<never>, "name">, index: string): string {
  return `${name}__${index}`;
}

/** Names of columns, in SQL. */
export function quoteColumns(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}

/** One name for a record of any collection. */
export function recordKey({ name }: Collection<never>, key: readonly KeyPart[]): string {
  return `${name}\u0000${key.length === 1 ? key[0] : key.join("\u0000")}`;
}

/** A record with all its columns and no more, as it will be read. */
export function toColumns({ columns }: CollectionStatements, record: StoredRecord): StoredRecord {
  const full: Record<string, unknown> = {};
  for (const [column] of columns) full[column] = record[column] ?? null;
  return full;
}

/** The values of a record, in the order of its columns. */
export function encodeRecord({ columns }: CollectionStatements, record: StoredRecord): SqlValue[] {
  return columns.map(([column, kind]) => {
    const value = record[column] ?? null;
    return kind === "json" && value !== null ? JSON.stringify(value) : (value as SqlValue);
  });
}

/** What was just read, and is nobody else's. */
export function decodeRecord(json: readonly string[], found: StoredRecord): StoredRecord {
  for (const column of json) {
    const text = found[column];
    if (text !== null) (found as Record<string, unknown>)[column] = JSON.parse(text as string);
  }
  return found;
}

/** Makes a collection's statements at their first use. */
export function createStatementCache(): (of: Collection<never>) => CollectionStatements {
  const made = new Map<string, CollectionStatements>();
  return (of) => {
    const found = made.get(of.name) ?? buildStatements(of);
    made.set(of.name, found);
    return found;
  };
}

function buildStatements(of: Collection<never>): CollectionStatements {
  const columns = Object.entries(of.columns as Record<string, ColumnType>);
  const names = columns.map(([name]) => name);
  const isKey = of.key.map((column) => `"${column}" = ?`).join(" AND ");
  const scans = new Map<string, string>();
  return {
    columns,
    json: columns.flatMap(([name, kind]) => (kind === "json" ? [name] : [])),
    get: `SELECT * FROM ${of.name} WHERE ${isKey}`,
    put: `INSERT OR REPLACE INTO ${of.name} (${quoteColumns(names)}) VALUES (${names.map(() => "?").join(", ")})`,
    drop: `DELETE FROM ${of.name} WHERE ${isKey}`,
    scan(range) {
      const { by = "", where = [], after, upTo, limit = "", newestFirst = false } = range;
      const shape = `${by}/${where.length}/${after !== undefined}/${upTo !== undefined}/${limit}/${newestFirst}`;
      const text = scans.get(shape) ?? buildScanSql(of, range);
      scans.set(shape, text);
      return text;
    },
  };
}

/**
 * Left alone, SQLite reads all of a feed by its key where that has the order too, instead of what the index finds. The
 * limit stands in the text, as it would compile a select anew at each use that had one bound to it.
 */
function buildScanSql(of: Collection<never>, { by, where = [], after, upTo, limit, newestFirst }: ScanRange): string {
  const order: readonly string[] = by ? (of.indexes[by] as readonly string[]) : of.key;
  const next = `"${order[where.length]}"`;
  const conditions = where.map((_, at) => `"${order[at]}" = ?`);
  if (after !== undefined) conditions.push(`${next} > ?`);
  if (upTo !== undefined) conditions.push(`${next} <= ?`);
  const condition = conditions.length > 0 ? ` WHERE ${conditions.join(" AND ")}` : "";
  const columns = [...new Set([...order, ...of.key])].map((column) => `"${column}"${newestFirst ? " DESC" : ""}`);
  const from = by ? `${of.name} INDEXED BY ${indexName(of, by)}` : of.name;
  return `SELECT * FROM ${from}${condition} ORDER BY ${columns.join(", ")}${limit === undefined ? "" : ` LIMIT ${limit}`}`;
}
