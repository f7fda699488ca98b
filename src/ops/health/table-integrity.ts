import type { StoreReader } from "../../store/store.ts";

/** Checking a larger table would block the event loop for too long; backups check those. */
const MAX_CHECKED_ROWS = 2_000;

/** Checks one table per call, in turn; an error is reported until the table is checked again. */
export function createTableIntegrityCheck(reader: StoreReader): { next(): ReadonlyMap<string, string> } {
  const damaged = new Map<string, string>();
  let queue: string[] = [];
  return {
    next() {
      if (queue.length === 0) queue = listTables(reader);
      const table = queue.pop();
      if (table === undefined) return damaged;
      const error = integrityFault(reader, table);
      if (error === null) damaged.delete(table);
      else damaged.set(table, error);
      return damaged;
    },
  };
}

function listTables(reader: StoreReader): string[] {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL AND name NOT LIKE 'sqlite_%'";
  return reader.all<{ name: string }>(sql).flatMap(({ name }) => (/^\w+$/.test(name) ? [name] : []));
}

/** The first error; null for an intact table and for one that is too large. @source SQLite, PRAGMA quick_check */
function integrityFault(reader: StoreReader, table: string): string | null {
  try {
    const counting = `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${table} LIMIT ${MAX_CHECKED_ROWS + 1})`;
    if ((reader.one<{ n: number }>(counting)?.n ?? 0) > MAX_CHECKED_ROWS) return null;
    const found = reader.all<{ quick_check: string }>(`PRAGMA quick_check(${table})`);
    const result = found[0]?.quick_check ?? "ok";
    return result === "ok" ? null : result;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
