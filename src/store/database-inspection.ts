import Database from "better-sqlite3";
import { readAuditTail } from "./audit-chain.ts";
import { readDataVersion } from "./data-version.ts";

/** Summary of a database, to be compared with the one stored in a backup manifest. */
export interface DatabaseSummary {
  /** Findings of SQLite's `integrity_check`, at most 20; empty when the database is intact. */
  faults: string[];
  /** Row counts by table. */
  rows: Record<string, number>;
  /** Number and hash of the last audit entry; 0 and empty without one. */
  audit: { number: number; hash: string };
  /** The version that wrote it last; null when none is stored. */
  version: string | null;
}

/** Converts a database copy to a single file without a WAL and checks all of it; takes seconds for a large one. */
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
