import Database from "better-sqlite3";
import { UpstreamError } from "../lib/errors.ts";

const KEY_NAME_IN_META = "key";
/** Key in `store_meta` under which a replica stores its position in the shared log. */
export const SHARED_POSITION = "shared_at";

/** Fingerprint of the key that the data is sealed with; null when none is stored yet. */
export function readKeyFingerprint(db: Database.Database): string | null {
  return (
    (db.prepare("SELECT value FROM store_meta WHERE name = ?").pluck().get(KEY_NAME_IN_META) as string | undefined) ??
    null
  );
}

/**
 * Stores the fingerprint on first use. Throws UpstreamError (`starting`) when it differs from the stored one: this key
 * could not open the sealed data, and the right key could not open data sealed with this one.
 */
export function verifyKeyFingerprint(db: Database.Database, fingerprint: string, dataDir: string): void {
  const stored = readKeyFingerprint(db);
  if (stored === fingerprint) return;
  if (stored === null) {
    db.prepare("INSERT INTO store_meta (name, value) VALUES (?, ?)").run(KEY_NAME_IN_META, fingerprint);
    return;
  }
  const message = `The secret key (fingerprint ${fingerprint}) does not match the key that the data in ${dataDir} is sealed with (fingerprint ${stored}). Restore that key.`;
  throw new UpstreamError("starting", message, { dataDir });
}

/** Another key counts from now on. Call it in the transaction that seals everything with it. */
export function replaceKeyFingerprint(db: Database.Database, fingerprint: string): void {
  db.prepare("INSERT OR REPLACE INTO main.store_meta (name, value) VALUES (?, ?)").run(KEY_NAME_IN_META, fingerprint);
}

/**
 * Lets the database at `path` accept another key; its sealed values can no longer be read. The database must not be
 * open.
 */
export function clearKeyFingerprint(path: string): void {
  const db = new Database(path, { fileMustExist: true });
  try {
    db.prepare("DELETE FROM store_meta WHERE name = ?").run(KEY_NAME_IN_META);
  } finally {
    db.close();
  }
}

/**
 * Throws UpstreamError (`starting`) when the database is a local replica of a shared database: rows written to it alone
 * would be lost.
 */
export function assertNotSharedCopy(db: Database.Database, dataDir: string): void {
  if (db.prepare("SELECT 1 FROM store_meta WHERE name = ?").get(SHARED_POSITION) === undefined) return;
  const message = `The data in ${dataDir} is a local replica of a shared database. Start it with carillon hub --database …`;
  throw new UpstreamError("starting", message, { dataDir });
}
