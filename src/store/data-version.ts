import type Database from "better-sqlite3";
import { UpstreamError } from "../lib/errors.ts";
import { isNewerVersion } from "../lib/version-order.ts";

/**
 * Throws UpstreamError (`starting`) when a newer version wrote the database: this version could lose or misread its
 * data. Downgrades need a backup of the older version.
 */
export function assertNotNewer(db: Database.Database, own: string, dataDir: string): void {
  const wrote = readDataVersion(db);
  if (wrote === null || !isNewerVersion(wrote, own)) return;
  db.close();
  const message = `The data in ${dataDir} was written by Carillon ${wrote}; this is ${own}. Run version ${wrote} or later, or restore a backup of version ${own}.`;
  throw new UpstreamError("starting", message, { dataDir });
}

/** The newest version that wrote the database; null when none is stored. */
export function readDataVersion(db: Database.Database): string | null {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'store_meta'").get() === undefined) return null;
  const found = db.prepare("SELECT value FROM store_meta WHERE name = 'version'").pluck().get();
  return (found as string | undefined) ?? null;
}

/** Stores the version that writes the database from now on. */
export function writeDataVersion(db: Database.Database, own: string): void {
  db.prepare("INSERT OR REPLACE INTO store_meta (name, value) VALUES ('version', ?)").run(own);
}
