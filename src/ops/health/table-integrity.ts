import type { StoreReader } from "../../store/store.ts";

/** Larger ones would hold up the event loop; backups look at them. own choice: some ms */
const MAX_CHECKED_ROWS = 2_000;

/** Looks at one table of the database at each call, round and round; what is wrong with which stays until it is looked at again. */
export function createTableIntegrityCheck(reader: StoreReader): { next(): ReadonlyMap<string, string> } {
  const damaged = new Map<string, string>();
  let waiting: string[] = [];
  return {
    next() {
      if (waiting.length === 0) waiting = listTables(reader);
      const table = waiting.pop();
      if (table === undefined) return damaged;
      const fault = integrityFault(reader, table);
      if (fault === null) damaged.delete(table);
      else damaged.set(table, fault);
      return damaged;
    },
  };
}

function listTables(reader: StoreReader): string[] {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL AND name NOT LIKE 'sqlite_%'";
  return reader.all<{ name: string }>(sql).flatMap(({ name }) => (/^\w+$/.test(name) ? [name] : []));
}

/** The first fault in words; null for a sound table, and for one that is too large to be looked at. @source SQLite, PRAGMA quick_check */
function integrityFault(reader: StoreReader, table: string): string | null {
  try {
    const counting = `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${table} LIMIT ${MAX_CHECKED_ROWS + 1})`;
    if ((reader.one<{ n: number }>(counting)?.n ?? 0) > MAX_CHECKED_ROWS) return null;
    const found = reader.all<{ quick_check: string }>(`PRAGMA quick_check(${table})`);
    const fault = found[0]?.quick_check ?? "ok";
    return fault === "ok" ? null : fault;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
