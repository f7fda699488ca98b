import type Database from "better-sqlite3";
import { UpstreamError } from "../lib/errors.ts";
import { isNewerVersion } from "../lib/version-order.ts";

/**
 * Throws UpstreamError (about the data directory) when a newer Carillon wrote the database: it may hold what this one
 * would lose or misread.
 */
export function assertNotNewer(db: Database.Database, own: string, dataDir: string): void {
  const wrote = readDataVersion(db);
  if (wrote === null || !isNewerVersion(wrote, own)) return;
  db.close();
  const message = `The data in ${dataDir} was written by Carillon ${wrote}; this is ${own}. Run that version or a later one, or restore a backup of this one.`;
  throw new UpstreamError("starting", message, { dataDir });
}

/** The latest Carillon that wrote the database; null from before that was noted. */
export function readDataVersion(db: Database.Database): string | null {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'store_meta'").get() === undefined) return null;
  const found = db.prepare("SELECT value FROM store_meta WHERE name = 'version'").pluck().get();
  return (found as string | undefined) ?? null;
}

/** Remembers which Carillon writes from now on. */
export function writeDataVersion(db: Database.Database, own: string): void {
  db.prepare("INSERT OR REPLACE INTO store_meta (name, value) VALUES ('version', ?)").run(own);
}
