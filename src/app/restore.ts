import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { CallerError, ConflictError, UpstreamError } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import { isNewer } from "../base/versions.ts";
import { BROADCAST_TABLES } from "../broadcast/room-tables.ts";
import { removeFolder, unpackBackup } from "../operations/backup-archive.ts";
import { type BackupManifest, DATABASE, FOLDERS, MANIFEST, MANIFEST_SUM } from "../operations/backup-manifest.ts";
import { keepOwner } from "../operations/ownership.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../replication/collections.ts";
import { productTypes } from "../replication/link/product-types.ts";
import { adoptRestored } from "../replication/restored.ts";
import { createSqliteWork, tablesOf } from "../replication/sqlite-work.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import { openDatabase } from "../store/database.ts";
import { forgetKey } from "../store/key-note.ts";
import { applianceKey, keyFingerprint, readKey } from "../store/secrets.ts";
import { writtenBy } from "../store/version.ts";
import { openDataOffline } from "./appliance.ts";
import { decideRestore, finishRestore, isRestoring } from "./finish-restore.ts";
import { ownVersion } from "./version.ts";

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
export interface Restored {
  takenAt: string;
  version: string;
  /** Folder with what was there before; null where nothing was. */
  aside: string | null;
  /** Messages that were under way when the backup was taken: they are ended, not sent again. */
  ended: number;
}

const SECRET_KEY = "secret-key";
/** What is replaced, with what SQLite keeps beside the database. */
const REPLACED = [DATABASE, `${DATABASE}-wal`, `${DATABASE}-shm`, ...FOLDERS];

/**
 * Puts a backup in the place of the data in `dataDir`, which no daemon may use. The backup is unpacked, checked and
 * opened before anything is touched; a crash leaves the old data or the new, never a part of each. Throws CallerError for a
 * backup that is damaged, made by a newer version or sealed with another key; UpstreamError when the data is in use.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { file, dataDir, clock } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  finishRestore(dataDir);
  requireUnused(dataDir);
  const stamp = new Date(clock.now()).toISOString().replaceAll(/[:.Z]/g, "");
  const stage = join(dataDir, `restoring-${stamp}`);
  try {
    const { manifest, faults } = await unpackBackup(file, stage);
    if (faults.length > 0) throw damaged(file, faults);
    if (isNewer(manifest.version, ownVersion())) throw newerBackup(manifest);
    bringKey(options, manifest, stage);
    const ended = await settleRestored(stage, basename(file), manifest, options);
    for (const name of [MANIFEST, MANIFEST_SUM]) rmSync(join(stage, name));
    const hadData = existsSync(join(dataDir, DATABASE));
    const aside = `before-restore-${stamp}`;
    const names = existsSync(join(stage, SECRET_KEY)) ? [...REPLACED, SECRET_KEY] : REPLACED;
    requireUnused(dataDir);
    keepOwner(stage, dataDir);
    decideRestore(dataDir, { stage: basename(stage), aside, names });
    const { takenAt, version } = manifest;
    return { takenAt, version, aside: hadData ? join(dataDir, aside) : null, ended };
  } finally {
    if (!isRestoring(dataDir)) await removeFolder(stage);
  }
}

function damaged(file: string, faults: readonly string[]): CallerError {
  const next = "Nothing was changed. Take another one: `carillon verify FILE` says whether it is whole.";
  return new CallerError("invalid-value", `${file} can't be restored: ${faults.join("; ")}. ${next}`);
}

/** Ends what must not go on, so that no old message is heard; gives how many messages that were. */
async function settleRestored(
  stage: string,
  file: string,
  { takenAt, version }: BackupManifest,
  { clock, credential, withoutKey }: RestoreOptions,
): Promise<number> {
  if (withoutKey) forgetKey(join(stage, DATABASE));
  const tables = [...tablesOf([...SITE_COLLECTIONS, ...HUB_COLLECTIONS]), ...BROADCAST_TABLES];
  const data = await openDataOffline(stage, clock, credential, tables);
  const { store, catalogue } = data;
  const by = data.access.systemBy("restore");
  const [work, types] = [createSqliteWork(store, catalogue, by), productTypes(catalogue)];
  try {
    return await store.write((tx) => {
      const now = clock.now();
      const ended = tx.run(
        `UPDATE main.notifications SET expires_at = ? WHERE stage NOT IN ('settled', 'draft') AND aborted_at IS NULL
         AND (expires_at IS NULL OR expires_at > ?)`,
        ...[now, now],
      );
      // Also one that everybody got may go again to whom has not answered.
      tx.run("DELETE FROM broadcast_due WHERE kind = 'repeat'");
      // Sealed with the key that is not there.
      if (withoutKey) tx.run("UPDATE once_keys SET answer = NULL");
      const endpoint = tx.find(endpoints, { extensionId: ONPREM_EXTENSION_ID }, 1)[0];
      if (endpoint) {
        const about = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpoint.id };
        work.within(tx, adoptRestored({ types, about, now, newId }));
        const value = { event: "restored", file, takenAt, version, endedMessages: ended.changes };
        tx.create(endpointActivities, { ...about, type: "log-message", value, severity: "warn" }, by);
      }
      return ended.changes;
    });
  } finally {
    await data.close();
  }
}

function bringKey(options: RestoreOptions, manifest: BackupManifest, stage: string): void {
  const { dataDir, keyFile, credential, withoutKey } = options;
  const own = join(dataDir, SECRET_KEY);
  const given = keyFile ?? (existsSync(own) ? own : null);
  const outside = credential ?? (process.env.CREDENTIALS_DIRECTORY ? applianceKey(dataDir) : null);
  const key = given !== null ? readKey(given) : outside;
  const fits = key !== null && keyFingerprint(key) === manifest.keyFingerprint;
  if (!fits && !withoutKey) throw wrongKey(given);
  if (given !== null) copyFileSync(given, join(stage, SECRET_KEY));
}

/** True when this version can't use the data in `dataDir`, which no process may use: a newer one has written it, or it broke. */
export function isBeyondOwn(dataDir: string): boolean {
  try {
    const db = openDatabase(dataDir);
    const wrote = writtenBy(db);
    db.close();
    return wrote !== null && isNewer(wrote, ownVersion());
  } catch {
    return true;
  }
}

/** Throws UpstreamError when a process uses the data; data that can't be opened is what a restore is for. */
function requireUnused(dataDir: string): void {
  if (!existsSync(join(dataDir, DATABASE))) return;
  try {
    // Closing it also takes what lies in its journal into the one file.
    openDatabase(dataDir).close();
  } catch (error) {
    if (error instanceof UpstreamError && "dataDir" in error.context) throw error;
  }
}

function newerBackup({ version }: BackupManifest): ConflictError {
  return new ConflictError(
    `The backup was made by Carillon ${version}; this is ${ownVersion()}. Upgrade first: an older one may lose what it does not know.`,
  );
}

function wrongKey(given: string | null): CallerError {
  const which =
    given === null ? "There is no secret key here" : `${given} is not the key that the backup was sealed with`;
  return new CallerError(
    "invalid-value",
    `${which}. Give it with --key FILE (carillon key export wrote that file), or go on with --without-key: passwords of plugins, call managers and webhooks must then be entered again.`,
  );
}
