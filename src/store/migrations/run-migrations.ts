import type Database from "better-sqlite3";
import { UpstreamError } from "../../lib/errors.ts";
import { standardTableNames } from "./0001-standard-table-names.ts";
import { missedAudioReasons } from "./0002-missed-audio-reasons.ts";
import { textOnlyDeliveries } from "./0003-text-only-deliveries.ts";
import { applianceTrust } from "./0004-appliance-trust.ts";
import { hashedPins } from "./0008-hashed-pins.ts";
import { auditSeal } from "./0010-audit-seal.ts";
import { plainHttp } from "./0013-plain-http.ts";
import type { Migration } from "./migration.ts";

/** All migrations, oldest first. A released migration is never changed, removed or reordered. */
export const MIGRATIONS: readonly Migration[] = [
  ...[standardTableNames, missedAudioReasons, textOnlyDeliveries, applianceTrust, hashedPins, auditSeal, plainHttp],
];

const MIGRATIONS_TABLE = `
CREATE TABLE IF NOT EXISTS schema_migrations (
  name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT, WITHOUT ROWID`;

/** What `runMigrations` is given. */
export interface MigrationRun {
  /** Folder of the database, for error messages. */
  dataDir: string;
  /** Wall time, epoch ms. */
  now: number;
  migrations?: readonly Migration[];
}

/**
 * Brings stored names and forms to those of this release: runs the migrations that the database has not recorded, all in
 * one transaction, so that a power cut leaves the old or the new form. A new database records them without running them.
 * Additive changes (new tables, columns and indexes) are not migrations: they are derived from the declarations.
 * Returns the names of those that ran. Throws UpstreamError for a database with a migration that this release does not know.
 */
export function runMigrations(
  db: Database.Database,
  { dataDir, now, migrations = MIGRATIONS }: MigrationRun,
): string[] {
  const isNew = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'store_meta'").get() === undefined;
  const isEnforced = db.pragma("foreign_keys", { simple: true });
  // Inside a transaction the pragma has no effect.
  db.pragma("foreign_keys = OFF");
  try {
    return db
      .transaction(() => {
        db.exec(MIGRATIONS_TABLE);
        const applied = new Set(db.prepare("SELECT name FROM schema_migrations").pluck().all() as string[]);
        assertKnown(applied, migrations, dataDir);
        const record = db.prepare("INSERT INTO schema_migrations (name, applied_at) VALUES (?, ?)");
        const pending = migrations.filter(({ name }) => !applied.has(name));
        for (const migration of pending) {
          if (!isNew) migration.up(db);
          record.run(migration.name, now);
        }
        return isNew ? [] : pending.map(({ name }) => name);
      })
      .immediate();
  } finally {
    db.pragma(`foreign_keys = ${isEnforced}`);
  }
}

function assertKnown(applied: ReadonlySet<string>, migrations: readonly Migration[], dataDir: string): void {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = [...applied].find((name) => !known.has(name));
  if (unknown === undefined) return;
  const message = `The data in ${dataDir} was migrated by a newer release (${unknown}). Run that release or a later one, or restore a backup of this one.`;
  throw new UpstreamError("starting", message, { dataDir });
}
