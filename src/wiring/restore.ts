import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError, UpstreamError } from "../lib/errors.ts";
import { copyOwner } from "../lib/file-ownership.ts";
import { newId } from "../lib/ids.ts";
import { productVersion } from "../lib/product-version.ts";
import { isNewerVersion } from "../lib/version-order.ts";
import { NOTIFICATION_TABLES } from "../notifications/schema.ts";
import { removeFolder, unpackBackup } from "../ops/backup/backup-archive.ts";
import {
  BACKUP_FOLDERS,
  type BackupManifest,
  DATABASE_FILE,
  MANIFEST_CHECKSUM_FILE,
  MANIFEST_FILE,
} from "../ops/backup/backup-manifest.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import { readDataVersion } from "../store/data-version.ts";
import { openDatabase } from "../store/database.ts";
import { clearKeyFingerprint } from "../store/key-fingerprint.ts";
import { keyFingerprint, loadSecretKey, readKeyFile } from "../store/secrets.ts";
import { adoptRestoredData } from "../sync/adopt-restored-data.ts";
import { productReplicatedTypes } from "../sync/protocol/product-replicated-types.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../sync/storage/collections.ts";
import { collectionTables, createSqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import { openApplianceDataOffline } from "./appliance-data.ts";
import { commitRestore, completePendingRestore, isRestorePending } from "./restore-journal.ts";

/** How a backup is brought back. */
export interface RestoreOptions {
  file: string;
  dataDir: string;
  /** File with the secret key, as `key export` wrote it; that of the data directory unless given. */
  keyFile?: string;
  /** Secret key that the service has as its credential: it is used and stays where it is. */
  credential?: Buffer;
  /** Goes on without the right key: what was sealed must be entered again. */
  withoutKey?: boolean;
  clock: Clock;
}

/** What was brought back. */
export interface RestoreResult {
  takenAt: string;
  version: string;
  /** Folder with what was there before; null where nothing was. */
  aside: string | null;
  /** Messages that were under way when the backup was taken: they are ended, not sent again. */
  ended: number;
}

const SECRET_KEY = "secret-key";
/** What is replaced, with what SQLite keeps beside the database. */
const REPLACED_FILES = [DATABASE_FILE, `${DATABASE_FILE}-wal`, `${DATABASE_FILE}-shm`, ...BACKUP_FOLDERS];

/**
 * Puts a backup in the place of the data in `dataDir`, which no daemon may use. The backup is unpacked, checked and
 * opened before anything is touched; a crash leaves the old data or the new, never a part of each. Throws CallerError for a
 * backup that is damaged, made by a newer version or sealed with another key; UpstreamError when the data is in use.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { file, dataDir, clock } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  completePendingRestore(dataDir);
  requireDataUnused(dataDir);
  const stamp = new Date(clock.now()).toISOString().replaceAll(/[:.Z]/g, "");
  const stage = join(dataDir, `restoring-${stamp}`);
  try {
    const { manifest, faults } = await unpackBackup(file, stage);
    if (faults.length > 0) throw damagedBackupError(file, faults);
    if (isNewerVersion(manifest.version, productVersion())) throw newerBackupError(manifest);
    stageSecretKey(options, manifest, stage);
    const ended = await cancelRestoredNotifications(stage, basename(file), manifest, options);
    for (const name of [MANIFEST_FILE, MANIFEST_CHECKSUM_FILE]) rmSync(join(stage, name));
    const hadData = existsSync(join(dataDir, DATABASE_FILE));
    const aside = `before-restore-${stamp}`;
    const names = existsSync(join(stage, SECRET_KEY)) ? [...REPLACED_FILES, SECRET_KEY] : REPLACED_FILES;
    requireDataUnused(dataDir);
    copyOwner(stage, dataDir);
    commitRestore(dataDir, { stage: basename(stage), aside, names });
    const { takenAt, version } = manifest;
    return { takenAt, version, aside: hadData ? join(dataDir, aside) : null, ended };
  } finally {
    if (!isRestorePending(dataDir)) await removeFolder(stage);
  }
}

function damagedBackupError(file: string, faults: readonly string[]): CallerError {
  const next = "Nothing was changed. Take another one: `carillon verify FILE` says whether it is whole.";
  return new CallerError("invalid-value", `${file} can't be restored: ${faults.join("; ")}. ${next}`);
}

/** Ends what must not go on, so that no old message is heard; gives how many messages that were. */
async function cancelRestoredNotifications(
  stage: string,
  file: string,
  { takenAt, version }: BackupManifest,
  { clock, credential, withoutKey }: RestoreOptions,
): Promise<number> {
  if (withoutKey) clearKeyFingerprint(join(stage, DATABASE_FILE));
  const tables = [...collectionTables([...SITE_COLLECTIONS, ...HUB_COLLECTIONS]), ...NOTIFICATION_TABLES];
  const data = await openApplianceDataOffline(stage, clock, credential, tables);
  const { store, catalogue } = data;
  const by = data.access.systemContext("restore");
  const [work, types] = [createSqliteProgramRunner(store, catalogue, by), productReplicatedTypes(catalogue)];
  try {
    return await store.write((tx) => {
      const now = clock.now();
      const ended = tx.run(
        `UPDATE main.notifications SET expires_at = ? WHERE stage NOT IN ('settled', 'draft') AND aborted_at IS NULL
         AND (expires_at IS NULL OR expires_at > ?)`,
        ...[now, now],
      );
      // Also one that everybody got may go again to whom has not answered.
      tx.run("DELETE FROM notification_timers WHERE kind = 'repeat'");
      // Sealed with the key that is not there.
      if (withoutKey) tx.run("UPDATE idempotency_keys SET response = NULL");
      const endpoint = tx.find(endpoints, { extensionId: ONPREM_EXTENSION_ID }, 1)[0];
      if (endpoint) {
        const commonFields = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpoint.id };
        work.runWithin(tx, adoptRestoredData({ types, commonFields, now, newId }));
        const value = { event: "restored", file, takenAt, version, endedMessages: ended.changes };
        tx.create(endpointActivities, { ...commonFields, type: "log-message", value, severity: "warn" }, by);
      }
      return ended.changes;
    });
  } finally {
    await data.close();
  }
}

function stageSecretKey(options: RestoreOptions, manifest: BackupManifest, stage: string): void {
  const { dataDir, keyFile, credential, withoutKey } = options;
  const own = join(dataDir, SECRET_KEY);
  const given = keyFile ?? (existsSync(own) ? own : null);
  const outside = credential ?? (process.env.CREDENTIALS_DIRECTORY ? loadSecretKey(dataDir) : null);
  const key = given !== null ? readKeyFile(given) : outside;
  const fits = key !== null && keyFingerprint(key) === manifest.keyFingerprint;
  if (!fits && !withoutKey) throw wrongKeyError(given);
  if (given !== null) copyFileSync(given, join(stage, SECRET_KEY));
}

/** True when this version can't use the data in `dataDir`, which no process may use: a newer one has written it, or it broke. */
export function needsNewerVersion(dataDir: string): boolean {
  try {
    const db = openDatabase(dataDir);
    const wrote = readDataVersion(db);
    db.close();
    return wrote !== null && isNewerVersion(wrote, productVersion());
  } catch {
    return true;
  }
}

/** Throws UpstreamError when a process uses the data; data that can't be opened is what a restore is for. */
function requireDataUnused(dataDir: string): void {
  if (!existsSync(join(dataDir, DATABASE_FILE))) return;
  try {
    // Closing it also takes what lies in its journal into the one file.
    openDatabase(dataDir).close();
  } catch (error) {
    if (error instanceof UpstreamError && "dataDir" in error.context) throw error;
  }
}

function newerBackupError({ version }: BackupManifest): ConflictError {
  return new ConflictError(
    `The backup was made by Carillon ${version}; this is ${productVersion()}. Upgrade first: an older one may lose what it does not know.`,
  );
}

function wrongKeyError(given: string | null): CallerError {
  const which =
    given === null ? "There is no secret key here" : `${given} is not the key that the backup was sealed with`;
  return new CallerError(
    "invalid-value",
    `${which}. Give it with --key FILE (carillon key export wrote that file), or go on with --without-key: passwords of plugins, call managers and webhooks must then be entered again.`,
  );
}
