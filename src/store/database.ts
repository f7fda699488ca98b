import { join } from "node:path";
import Database from "better-sqlite3";
import { UpstreamError } from "../lib/errors.ts";
import { prepareDataDirectory } from "./data-directory.ts";

/**
 * The first SQLite release without the WAL-reset corruption bug. @source docs/decisions/0017-store.md, SQLite settings
 */
const MIN_SQLITE_VERSION = [3, 51, 3];

const DATABASE_FILE = "carillon.db";

/** Opens an in-memory database, for simulations. */
export function openInMemoryDatabase(): Database.Database {
  const db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  return db;
}

/**
 * Opens DIR/carillon.db for this process alone: WAL, EXCLUSIVE (works on a full disk, keeps other programs out),
 * synchronous=FULL read back, foreign keys on. Throws UpstreamError when DIR is in use or the settings do not take
 * effect.
 * @source docs/decisions/0017-store.md, SQLite settings
 */
export function openDatabase(dataDir: string): Database.Database {
  prepareDataDirectory(dataDir, DATABASE_FILE);
  const db = new Database(join(dataDir, DATABASE_FILE), { timeout: 0 });
  try {
    db.pragma("locking_mode = EXCLUSIVE");
    db.pragma("journal_mode = WAL");
    db.pragma("synchronous = FULL");
    db.pragma("foreign_keys = ON");
    db.pragma("cache_size = -65536");
    db.pragma("journal_size_limit = 67108864");
    // Savepoints keep changed pages in a temporary store; in a file, that takes half the time of a write.
    db.pragma("temp_store = MEMORY");
    assertDatabaseSettings(db);
    // Takes the lock now instead of at the first write.
    db.exec("BEGIN IMMEDIATE; COMMIT");
    return db;
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code?.startsWith("SQLITE_BUSY")) {
      throw new UpstreamError(
        "starting",
        `Another process uses the data in ${dataDir}. Stop it first.`,
        { dataDir },
        error,
      );
    }
    throw error;
  }
}

function assertDatabaseSettings(db: Database.Database): void {
  const version = String(db.prepare("SELECT sqlite_version()").pluck().get());
  const parts = version.split(".").map(Number);
  const difference = MIN_SQLITE_VERSION.map((wanted, at) => (parts[at] ?? 0) - wanted).find((by) => by !== 0) ?? 0;
  const found = {
    synchronous: db.pragma("synchronous", { simple: true }),
    journal: db.pragma("journal_mode", { simple: true }),
    locking: db.pragma("locking_mode", { simple: true }),
  };
  if (difference < 0 || found.synchronous !== 2 || found.journal !== "wal" || found.locking !== "exclusive") {
    throw new UpstreamError(
      "starting",
      `The database settings did not take effect: synchronous must be FULL, journal_mode WAL, locking_mode EXCLUSIVE and SQLite at least ${MIN_SQLITE_VERSION.join(".")} (found ${version}).`,
      found,
    );
  }
}
