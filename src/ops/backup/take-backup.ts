import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { UpstreamError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import { keyFingerprint, loadSecretKey } from "../../store/secrets.ts";
import type { Store } from "../../store/store.ts";
import { type BackupReport, removeFolder } from "./backup-archive.ts";
import {
  type BackupRetention,
  backupName,
  backupTimeOf,
  DATABASE_FILE,
  expiredBackups,
  isScheduledBackup,
} from "./backup-manifest.ts";
import { runBackupTask } from "./backup-task.ts";

export interface TakeBackupDeps {
  store: Pick<Store, "backupTo" | "one">;
  dataDir: string;
  version: string;
  /** Epoch ms. */
  now: number;
  /** False: somebody asked for it, so that retention never deletes it. */
  isScheduled: boolean;
  signal?: AbortSignal;
}

/** Name prefix of temporary folders of running backups. */
const WORKING_PREFIX = ".working-";

/**
 * Takes a backup into `folder` and verifies it by unpacking it and comparing every file. It contains database, uploaded files
 * and installed plugins, but never the secret key, the TLS keys or the log. Throws UpstreamError if it fails, and leaves earlier
 * backups unchanged; `faults` lists what is damaged.
 */
export async function takeBackup(folder: string, deps: TakeBackupDeps): Promise<BackupReport> {
  const { store, dataDir, version, now, isScheduled } = deps;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeLeftovers(folder);
  await requireFreeSpace(folder, store);
  const stage = join(folder, `${WORKING_PREFIX}${newId()}`);
  await mkdir(stage, { mode: 0o700 });
  try {
    await store.backupTo(join(stage, DATABASE_FILE));
    const fingerprint = keyFingerprint(loadSecretKey(dataDir));
    const about = { version, takenAt: new Date(now).toISOString(), keyFingerprint: fingerprint };
    const target = join(folder, backupName(now, isScheduled));
    const packed = await runBackupTask({ kind: "pack", order: { dataDir, stage, target, about } }, deps.signal);
    const verified = await verifyBackup(target, folder, deps.signal);
    return { ...verified, faults: [...packed.faults, ...verified.faults] };
  } finally {
    await removeFolder(stage);
  }
}

/** Unpacks a backup into a temporary folder below `workDir`, verifies it and deletes the folder. */
export function verifyBackup(path: string, workDir: string, signal?: AbortSignal): Promise<BackupReport> {
  return runBackupTask({ kind: "verify", path, into: join(workDir, `${WORKING_PREFIX}${newId()}`) }, signal);
}

/** A backup file; `at`: epoch ms. */
export interface BackupFileInfo {
  name: string;
  at: number;
  bytes: number;
}

/** The backups in `folder`, which may be missing, newest first. */
export async function listBackups(folder: string): Promise<BackupFileInfo[]> {
  const found: BackupFileInfo[] = [];
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const at = backupTimeOf(name);
    if (at !== null) found.push({ name, at, bytes: (await stat(join(folder, name))).size });
  }
  return found.sort((one, other) => other.at - one.at);
}

/** Deletes expired scheduled backups in `folder`. */
export async function pruneBackups(folder: string, retention: BackupRetention): Promise<void> {
  const taken = readdirSync(folder).flatMap((name) => (isScheduledBackup(name) ? (backupTimeOf(name) ?? []) : []));
  for (const at of expiredBackups(taken, retention)) await rm(join(folder, backupName(at, true)), { force: true });
}

/** Deletes temporary folders of killed processes in `folder`, which may be missing. */
export async function removeLeftovers(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (name.startsWith(WORKING_PREFIX)) await removeFolder(join(folder, name));
}

/** Database copy, archive and unpacked copy exist at the same time. */
async function requireFreeSpace(folder: string, store: TakeBackupDeps["store"]): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const database = store.one<{ n: number }>(
    "SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size",
  );
  const needed = 3 * (database?.n ?? 0);
  if (bavail * bsize >= needed) return;
  const missing = Math.ceil((needed - bavail * bsize) / 1_048_576);
  throw new UpstreamError(
    "storage-full",
    `Not enough disk space for a backup in ${folder}: ${missing} MiB more needed.`,
  );
}
