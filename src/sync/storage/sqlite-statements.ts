import type { SqlValue } from "../../store/store.ts";
import type { Collection, ColumnType, KeyPart, ScanRange } from "./transaction-program.ts";

/** A record of a collection, by column. */
export type StoredRecord = Readonly<Record<string, unknown>>;

/** SQL texts of a collection; each is built once, so that the store finds it prepared. */
interface CollectionStatements {
  columns: readonly (readonly [name: string, kind: ColumnType])[];
  json: readonly string[];
  get: string;
  put: string;
  drop: string;
  scan(range: ScanRange): string;
}

/** Name of the SQL index of a collection's index. */
export function indexName({ name }: Pick<Collection<never>, "name">, index: string): string {
  return `${name}__${index}`;
}

/** Quoted and comma-separated. */
export function quoteColumns(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}

/** Cache key of a record, unique over all collections. */
export function recordKey({ name }: Collection<never>, key: readonly KeyPart[]): string {
  return `${name}\u0000${key.length === 1 ? key[0] : key.join("\u0000")}`;
}

/** The record with exactly the collection's columns; missing values are null. */
export function toColumns({ columns }: CollectionStatements, record: StoredRecord): StoredRecord {
  const full: Record<string, unknown> = {};
  for (const [column] of columns) full[column] = record[column] ?? null;
  return full;
}

/** The values of a record in column order, JSON encoded. */
export function encodeRecord({ columns }: CollectionStatements, record: StoredRecord): SqlValue[] {
  return columns.map(([column, kind]) => {
    const value = record[column] ?? null;
    return kind === "json" && value !== null ? JSON.stringify(value) : (value as SqlValue);
  });
}

/** Decodes JSON columns in place; the caller must own the record. */
export function decodeRecord(json: readonly string[], found: StoredRecord): StoredRecord {
  for (const column of json) {
    const text = found[column];
    if (text !== null) (found as Record<string, unknown>)[column] = JSON.parse(text as string);
  }
  return found;
}

/** Builds a collection's SQL at its first use. */
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
 * INDEXED BY, because SQLite prefers the primary key if that has the order too, and scans the whole feed. The limit is part
 * of the text, because a bound limit makes SQLite prepare the statement again at each use.
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
