import Database from "better-sqlite3";
import { readAuditTail } from "./audit-chain.ts";
import { readDataVersion } from "./data-version.ts";

/** What a database says of itself, to be compared with what was noted of it. */
export interface DatabaseSummary {
  /** What SQLite's check found, empty when all is sound; at most 20 of them. */
  faults: string[];
  /** Rows by table. */
  rows: Record<string, number>;
  /** Number and hash of the last entry of the audit; 0 and empty without one. */
  audit: { number: number; hash: string };
  /** The Carillon that wrote it last; null from before that was noted. */
  version: string | null;
}

/** Makes one plain file of a copy, without a journal beside it, and looks through all of it: seconds for a large one. */
export function inspectDatabase(path: string): DatabaseSummary {
  const db = new Database(path, { fileMustExist: true });
  try {
    db.pragma("journal_mode = DELETE");
    const found = db.pragma("integrity_check(20)") as { integrity_check: string }[];
    const faults = found.map(({ integrity_check }) => integrity_check).filter((line) => line !== "ok");
    return { faults, ...readSummary(db) };
  } finally {
    db.close();
  }
}

function readSummary(db: Database.Database): Omit<DatabaseSummary, "faults"> {
  const get = (sql: string): unknown => db.prepare(sql).get();
  const names = db
    .prepare(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'search_%'
       AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`,
    )
    .pluck()
    .all() as string[];
  const count = (name: string): number => db.prepare(`SELECT COUNT(*) FROM "${name}"`).pluck().get() as number;
  const tail = readAuditTail(get);
  return {
    rows: Object.fromEntries(names.map((name) => [name, count(name)])),
    audit: { number: tail.pk, hash: tail.hash },
    version: readDataVersion(db),
  };
}
