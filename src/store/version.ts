import type Database from "better-sqlite3";
import { UpstreamError } from "../base/errors.ts";
import { isNewer } from "../base/versions.ts";

/**
 * Throws UpstreamError (about the data directory) when a newer Carillon wrote the database: it may hold what this one
 * would lose or misread.
 */
export function refuseNewer(db: Database.Database, own: string, dataDir: string): void {
  const wrote = writtenBy(db);
  if (wrote === null || !isNewer(wrote, own)) return;
  db.close();
  const message = `The data in ${dataDir} was written by Carillon ${wrote}; this is ${own}. Run that version or a later one, or restore a backup of this one.`;
  throw new UpstreamError("starting", message, { dataDir });
}

/** The latest Carillon that wrote the database; null from before that was noted. */
export function writtenBy(db: Database.Database): string | null {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'store_meta'").get() === undefined) return null;
  const found = db.prepare("SELECT value FROM store_meta WHERE name = 'version'").pluck().get();
  return (found as string | undefined) ?? null;
}

/** Remembers which Carillon writes from now on. */
export function noteVersion(db: Database.Database, own: string): void {
  db.prepare("INSERT OR REPLACE INTO store_meta (name, value) VALUES ('version', ?)").run(own);
}
