import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { UpstreamError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import { keyFingerprint, loadSecretKey } from "../../store/secrets.ts";
import type { Store } from "../../store/store.ts";
import { type BackupReport, removeFolder } from "./backup-archive.ts";
import { backupName, backupTimeOf, DATABASE_FILE, expiredBackups } from "./backup-manifest.ts";
import { runBackupTask } from "./backup-task.ts";

/** What a backup is taken with. */
export interface TakeBackupDeps {
  store: Pick<Store, "backupTo" | "one">;
  dataDir: string;
  version: string;
  /** Epoch ms. */
  now: number;
  signal?: AbortSignal;
}

/** Begins the names of folders in which backups are being made or proven. */
const WORKING_PREFIX = ".working-";

/**
 * Takes a backup into `folder` and proves it: it is unpacked again and every file of it compared. It holds database,
 * uploaded files and installed plugins, and never the secret key, the keys of certificates or the log. Throws
 * UpstreamError and leaves what was there before when it can't be made; `faults` names what is damaged.
 */
export async function takeBackup(folder: string, needs: TakeBackupDeps): Promise<BackupReport> {
  const { store, dataDir, version, now } = needs;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeLeftovers(folder);
  await requireFreeSpace(folder, store);
  const stage = join(folder, `${WORKING_PREFIX}${newId()}`);
  await mkdir(stage, { mode: 0o700 });
  try {
    await store.backupTo(join(stage, DATABASE_FILE));
    const keyOf = keyFingerprint(loadSecretKey(dataDir));
    const about = { version, takenAt: new Date(now).toISOString(), keyFingerprint: keyOf };
    const target = join(folder, backupName(now));
    const packed = await runBackupTask({ kind: "pack", order: { dataDir, stage, target, about } }, needs.signal);
    const proven = await verifyBackup(target, folder, needs.signal);
    return { ...proven, faults: [...packed.faults, ...proven.faults] };
  } finally {
    await removeFolder(stage);
  }
}

/** Unpacks a backup into a folder of its own below `beside`, checks all of it and removes the folder. */
export function verifyBackup(path: string, beside: string, signal?: AbortSignal): Promise<BackupReport> {
  return runBackupTask({ kind: "verify", path, into: join(beside, `${WORKING_PREFIX}${newId()}`) }, signal);
}

/** One that lies in a folder; epoch ms. */
export interface BackupFileInfo {
  name: string;
  at: number;
  bytes: number;
}

/** The backups in `folder`, which may be missing, the newest first. */
export async function listBackups(folder: string): Promise<BackupFileInfo[]> {
  const found: BackupFileInfo[] = [];
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const at = backupTimeOf(name);
    if (at !== null) found.push({ name, at, bytes: (await stat(join(folder, name))).size });
  }
  return found.sort((one, other) => other.at - one.at);
}

/** Removes the backups in `folder` that need not be kept. */
export async function pruneBackups(folder: string, keep: { days: number; weeks: number }): Promise<void> {
  const taken = readdirSync(folder).flatMap((name) => backupTimeOf(name) ?? []);
  for (const at of expiredBackups(taken, keep)) await rm(join(folder, backupName(at)), { force: true });
}

/** Removes what a process that was killed left behind in `folder`, which may be missing. */
export async function removeLeftovers(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (name.startsWith(WORKING_PREFIX)) await removeFolder(join(folder, name));
}

/** Copy, archive and the proof lie on the disk at once. */
async function requireFreeSpace(folder: string, store: TakeBackupDeps["store"]): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const database = store.one<{ n: number }>(
    "SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size",
  );
  const needed = 3 * (database?.n ?? 0);
  if (bavail * bsize >= needed) return;
  const missing = Math.ceil((needed - bavail * bsize) / 1_048_576);
  throw new UpstreamError("storage-full", `${folder} has too little room for a backup: ${missing} MiB are missing.`);
}
