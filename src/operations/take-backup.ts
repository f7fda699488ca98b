import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { UpstreamError } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import { applianceKey, keyFingerprint } from "../store/secrets.ts";
import type { Store } from "../store/store.ts";
import { type BackupReport, removeFolder } from "./backup-archive.ts";
import { backupName, DATABASE, superfluous, takenAtOf } from "./backup-manifest.ts";
import { carryOutBackup } from "./backup-work.ts";

/** What a backup is taken with. */
export interface TakeNeeds {
  store: Pick<Store, "copyTo" | "one">;
  dataDir: string;
  version: string;
  /** Epoch ms. */
  now: number;
  signal?: AbortSignal;
}

/** Begins the names of folders in which backups are being made or proven. */
const WORKING = ".working-";

/**
 * Takes a backup into `folder` and proves it: it is unpacked again and every file of it compared. It holds database,
 * uploaded files and installed plugins, and never the secret key, the keys of certificates or the log. Throws
 * UpstreamError and leaves what was there before when it can't be made; `faults` names what is damaged.
 */
export async function takeBackup(folder: string, needs: TakeNeeds): Promise<BackupReport> {
  const { store, dataDir, version, now } = needs;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await clearLeftOvers(folder);
  await requireRoom(folder, store);
  const stage = join(folder, `${WORKING}${newId()}`);
  await mkdir(stage, { mode: 0o700 });
  try {
    await store.copyTo(join(stage, DATABASE));
    const keyOf = keyFingerprint(applianceKey(dataDir));
    const about = { version, takenAt: new Date(now).toISOString(), keyFingerprint: keyOf };
    const target = join(folder, backupName(now));
    const packed = await carryOutBackup({ kind: "pack", order: { dataDir, stage, target, about } }, needs.signal);
    const proven = await proveBackup(target, folder, needs.signal);
    return { ...proven, faults: [...packed.faults, ...proven.faults] };
  } finally {
    await removeFolder(stage);
  }
}

/** Unpacks a backup into a folder of its own below `beside`, checks all of it and removes the folder. */
export function proveBackup(path: string, beside: string, signal?: AbortSignal): Promise<BackupReport> {
  return carryOutBackup({ kind: "prove", path, into: join(beside, `${WORKING}${newId()}`) }, signal);
}

/** One that lies in a folder; epoch ms. */
export interface BackupInFolder {
  name: string;
  at: number;
  bytes: number;
}

/** The backups in `folder`, which may be missing, the newest first. */
export async function backupsIn(folder: string): Promise<BackupInFolder[]> {
  const found: BackupInFolder[] = [];
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const at = takenAtOf(name);
    if (at !== null) found.push({ name, at, bytes: (await stat(join(folder, name))).size });
  }
  return found.sort((one, other) => other.at - one.at);
}

/** Removes the backups in `folder` that need not be kept. */
export async function thinOut(folder: string, keep: { days: number; weeks: number }): Promise<void> {
  const taken = readdirSync(folder).flatMap((name) => takenAtOf(name) ?? []);
  for (const at of superfluous(taken, keep)) await rm(join(folder, backupName(at)), { force: true });
}

/** Removes what a process that was killed left behind in `folder`, which may be missing. */
export async function clearLeftOvers(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (name.startsWith(WORKING)) await removeFolder(join(folder, name));
}

/** Copy, archive and the proof lie on the disk at once. */
async function requireRoom(folder: string, store: TakeNeeds["store"]): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const database = store.one<{ n: number }>(
    "SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size",
  );
  const needed = 3 * (database?.n ?? 0);
  if (bavail * bsize >= needed) return;
  const missing = Math.ceil((needed - bavail * bsize) / 1_048_576);
  throw new UpstreamError("storage-full", `${folder} has too little room for a backup: ${missing} MiB are missing.`);
}
