import Database from "better-sqlite3";
import { UpstreamError } from "../lib/errors.ts";

const KEY_NAME_IN_META = "key";
/** Name under which a copy notes up to where it has all. */
export const SHARED_POSITION = "shared_at";

/** Fingerprint of the key that the data was sealed with; null before it was first noted. */
export function readKeyFingerprint(db: Database.Database): string | null {
  return (
    (db.prepare("SELECT value FROM store_meta WHERE name = ?").pluck().get(KEY_NAME_IN_META) as string | undefined) ??
    null
  );
}

/**
 * Notes the key where none was noted. Throws UpstreamError (about the data directory) for another one than was: it could
 * not read what is sealed, and what it sealed the right one could not.
 */
export function verifyKeyFingerprint(db: Database.Database, fingerprint: string, dataDir: string): void {
  const noted = readKeyFingerprint(db);
  if (noted === fingerprint) return;
  if (noted === null) {
    db.prepare("INSERT INTO store_meta (name, value) VALUES (?, ?)").run(KEY_NAME_IN_META, fingerprint);
    return;
  }
  const message = `The secret key ${fingerprint} is not the one that the data in ${dataDir} is sealed with, ${noted}: bring that one back.`;
  throw new UpstreamError("starting", message, { dataDir });
}

/** Lets the database at `path`, which nobody uses, take another key: what is sealed in it can't be read any more. */
export function clearKeyFingerprint(path: string): void {
  const db = new Database(path, { fileMustExist: true });
  try {
    db.prepare("DELETE FROM store_meta WHERE name = ?").run(KEY_NAME_IN_META);
  } finally {
    db.close();
  }
}

/**
 * Throws UpstreamError (about the data directory) when the database is a copy of what other processes write too: what is
 * written into it alone would be lost.
 */
export function assertNotSharedCopy(db: Database.Database, dataDir: string): void {
  if (db.prepare("SELECT 1 FROM store_meta WHERE name = ?").get(SHARED_POSITION) === undefined) return;
  const message = `The data in ${dataDir} is a cloud's copy of what lies in a database that it shares: use it by carillon hub --database …`;
  throw new UpstreamError("starting", message, { dataDir });
}
