import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError, UpstreamError } from "../lib/errors.ts";
import { copyOwner } from "../lib/file-ownership.ts";
import { newId } from "../lib/ids.ts";
import { productVersion } from "../lib/product-version.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { isNewerVersion } from "../lib/version-order.ts";
import { NOTIFICATION_TABLES } from "../notifications/schema.ts";
import { AUDIT_END_FILE } from "../ops/audit-notes.ts";
import { removeFolder, unpackBackup } from "../ops/backup/backup-archive.ts";
import {
  BACKUP_FOLDERS,
  type BackupManifest,
  DATABASE_FILE,
  MANIFEST_CHECKSUM_FILE,
  MANIFEST_FILE,
} from "../ops/backup/backup-manifest.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import { RESTORED_AFTER } from "../store/audit-chain.ts";
import { resealAudit } from "../store/audit-seal.ts";
import { readDataVersion } from "../store/data-version.ts";
import { openDatabase } from "../store/database.ts";
import { clearKeyFingerprint } from "../store/key-fingerprint.ts";
import { keyFingerprint, loadSecretKey, readKeyFile } from "../store/secrets.ts";
import { adoptRestoredData } from "../sync/adopt-restored-data.ts";
import { productReplicatedTypes } from "../sync/protocol/product-replicated-types.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../sync/storage/collections.ts";
import { collectionTables, createSqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import { openApplianceDataOffline } from "./appliance-data.ts";
import { readLocalEndpoint } from "./local-endpoint.ts";
import { commitRestore, completePendingRestore, isRestorePending } from "./restore-journal.ts";

export interface RestoreOptions {
  file: string;
  dataDir: string;
  /** File with the secret key, as written by `key export`; default: the one in the data directory. */
  keyFile?: string;
  /** Secret key given as a systemd credential; used but not copied. */
  credential?: Buffer;
  /** Identities that decrypt an encrypted backup. */
  identities?: readonly string[];
  /** Continue without the matching key: encrypted values must be entered again. */
  withoutKey?: boolean;
  clock: Clock;
}

export interface RestoreResult {
  takenAt: string;
  version: string;
  /** Folder with the previous data; null if there were none. */
  aside: string | null;
  /** Messages that were in progress when the backup was taken; they are ended, not sent again. */
  ended: number;
}

const SECRET_KEY = "secret-key";
/** Files that are replaced, including SQLite's side files. */
const REPLACED_FILES = [
  DATABASE_FILE,
  `${DATABASE_FILE}-wal`,
  `${DATABASE_FILE}-shm`,
  AUDIT_END_FILE,
  ...BACKUP_FOLDERS,
];

/**
 * Replaces the data in `dataDir` by a backup; no daemon may use them. The backup is unpacked, verified and opened before anything
 * changes; after a crash either the old or the new data are complete. Throws CallerError for a backup that is damaged,
 * made by a newer version or encrypted with another key; UpstreamError if the data are in use.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { file, dataDir, clock } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  completePendingRestore(dataDir);
  requireDataUnused(dataDir);
  const stamp = new Date(clock.now()).toISOString().replaceAll(/[:.Z]/g, "");
  const stage = join(dataDir, `restoring-${stamp}`);
  try {
    const { manifest, faults, encryption } = await unpackBackup(file, stage, options.identities);
    if (encryption === "sealed" || encryption === "unlabelled") throw missingIdentityError(file);
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

function missingIdentityError(file: string): CallerError {
  return new CallerError(
    "invalid-value",
    `${file} is encrypted. Nothing was changed. Add --identity FILE with the identity that \`carillon backup key create\` printed.`,
  );
}

function damagedBackupError(file: string, faults: readonly string[]): CallerError {
  const next = "Nothing was changed. Use another backup; `carillon verify FILE` checks it.";
  return new CallerError("invalid-value", `${file} can't be restored: ${faults.join("; ")}. ${next}`);
}

/** Ends messages in progress, so that no old message is played; returns their number. */
async function cancelRestoredNotifications(
  stage: string,
  file: string,
  { takenAt, version, audit }: BackupManifest,
  { clock, credential, withoutKey }: RestoreOptions,
): Promise<number> {
  if (withoutKey) {
    clearKeyFingerprint(join(stage, DATABASE_FILE));
    resealAudit(join(stage, DATABASE_FILE), credential ?? loadSecretKey(stage));
  }
  const tables = [...collectionTables([...SITE_COLLECTIONS, ...HUB_COLLECTIONS]), ...NOTIFICATION_TABLES];
  const data = await openApplianceDataOffline(stage, clock, credential, tables);
  const { store, catalogue } = data;
  const by = data.access.systemContext("restore");
  const [runner, types] = [createSqliteProgramRunner(store, catalogue, by), productReplicatedTypes(catalogue)];
  try {
    return await store.write((tx) => {
      const now = clock.now();
      const ended = tx.run(
        `UPDATE main.notifications SET expires_at = ? WHERE stage NOT IN ('settled', 'draft') AND aborted_at IS NULL
         AND (expires_at IS NULL OR expires_at > ?)`,
        ...[now, now],
      );
      // A message that everybody got may still be repeated to those who have not answered.
      tx.run("DELETE FROM notification_timers WHERE kind = 'repeat'");
      // Encrypted with the missing key.
      if (withoutKey) tx.run("UPDATE idempotency_keys SET response = NULL");
      const sealed = withoutKey ? { sealedAgain: "with another key" } : {};
      const change = sentence("trust.restored", { file, date: takenAt });
      const details = { change, [RESTORED_AFTER]: audit.number, head: audit.hash, ...sealed };
      tx.addAuditEvent({ op: "trust-change", resource: "backups", rowId: null, details }, by);
      const endpointId = readLocalEndpoint(tx);
      if (endpointId !== null) {
        const commonFields = { extensionId: ONPREM_EXTENSION_ID, endpointId };
        runner.runWithin(tx, adoptRestoredData({ types, commonFields, now, newId }));
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
  const localFile = join(dataDir, SECRET_KEY);
  const given = keyFile ?? (existsSync(localFile) ? localFile : null);
  const outside = credential ?? (process.env.CREDENTIALS_DIRECTORY ? loadSecretKey(dataDir) : null);
  const key = given !== null ? readKeyFile(given) : outside;
  const matches = key !== null && keyFingerprint(key) === manifest.keyFingerprint;
  if (!matches && !withoutKey) throw wrongKeyError(given);
  if (given !== null) copyFileSync(given, join(stage, SECRET_KEY));
}

/** True when `product`, a version, can't use the data in `dataDir`: a newer one wrote them, or they are damaged. No process may use them. */
export function needsNewerVersion(dataDir: string, product = productVersion()): boolean {
  try {
    const db = openDatabase(dataDir);
    const version = readDataVersion(db);
    db.close();
    return version !== null && isNewerVersion(version, product);
  } catch {
    return true;
  }
}

/** Throws UpstreamError if a process uses the data; unreadable data are a reason to restore. */
function requireDataUnused(dataDir: string): void {
  if (!existsSync(join(dataDir, DATABASE_FILE))) return;
  try {
    // Closing it also merges the write-ahead log into the database file.
    openDatabase(dataDir).close();
  } catch (error) {
    if (error instanceof UpstreamError && "dataDir" in error.context) throw error;
  }
}

function newerBackupError({ version }: BackupManifest): ConflictError {
  return new ConflictError(
    `The backup was made by Carillon ${version}; this is ${productVersion()}. Upgrade first: an older version would lose data that it does not support.`,
  );
}

function wrongKeyError(given: string | null): CallerError {
  const problem = given === null ? "No secret key found" : `${given} is not the key that the backup was encrypted with`;
  return new CallerError(
    "invalid-value",
    `${problem}. Add --key FILE (written by carillon key export), or continue with --without-key: passwords of plugins, call managers and webhooks must then be entered again.`,
  );
}
