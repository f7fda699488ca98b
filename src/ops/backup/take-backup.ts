import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { UpstreamError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { keyFingerprint, loadSecretKey } from "../../store/secrets.ts";
import type { Store } from "../../store/store.ts";
import { type BackupReport, removeFolder } from "./backup-archive.ts";
import { createVerificationKey, isEncryptedName, labelPathOf } from "./backup-encryption.ts";
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
  /** Public keys to encrypt to; none: a plain archive. */
  recipients?: readonly string[];
  signal?: AbortSignal;
}

/** Name prefix of temporary folders of running backups. */
const WORKING_PREFIX = ".working-";

/**
 * Takes a backup into `folder` and verifies it by unpacking it and comparing every file. It contains database, uploaded files
 * and installed plugins, but never the secret key, the TLS keys or the log. With `recipients` it is encrypted, and nothing else
 * reaches `folder`, which may be on another machine. Throws UpstreamError if it fails, and leaves earlier backups unchanged;
 * `faults` lists what is damaged.
 */
export async function takeBackup(folder: string, deps: TakeBackupDeps): Promise<BackupReport> {
  const { store, dataDir, version, now, isScheduled, recipients = [] } = deps;
  const isEncrypted = recipients.length > 0;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeLeftovers(folder);
  // The copies in the clear stay where the data are.
  const workDir = isEncrypted ? dataDir : folder;
  if (isEncrypted) await removeLeftovers(dataDir);
  await requireFreeSpace(workDir, store, 3);
  if (isEncrypted) await requireFreeSpace(folder, store, 1);
  const stage = join(workDir, `${WORKING_PREFIX}${newId()}`);
  const archiveDir = isEncrypted ? join(folder, `${WORKING_PREFIX}${newId()}`) : stage;
  await mkdir(stage, { mode: 0o700 });
  try {
    await mkdir(archiveDir, { recursive: true, mode: 0o700 });
    await store.backupTo(join(stage, DATABASE_FILE));
    const fingerprint = keyFingerprint(loadSecretKey(dataDir));
    const about = { version, takenAt: new Date(now).toISOString(), keyFingerprint: fingerprint };
    const target = join(folder, backupName(now, isScheduled, isEncrypted));
    const verifying = isEncrypted ? await createVerificationKey(recipients) : null;
    const encryptTo = verifying ? { recipients: [...recipients, verifying.recipient], archiveDir } : {};
    const order = { dataDir, stage, target, about, ...encryptTo };
    const packed = await runBackupTask({ kind: "pack", order }, deps.signal);
    const verified = await verifyBackup(target, workDir, { signal: deps.signal, identity: verifying?.identity });
    return { ...verified, faults: [...packed.faults, ...verified.faults] };
  } finally {
    await removeFolder(stage);
    await removeFolder(archiveDir);
  }
}

/**
 * Unpacks a backup into a temporary folder below `workDir`, verifies it and deletes the folder. An encrypted one needs an
 * identity; without one it is checked as far as possible.
 */
export function verifyBackup(
  path: string,
  workDir: string,
  { signal, identity, identities = [] }: VerifyOptions = {},
): Promise<BackupReport> {
  const into = join(workDir, `${WORKING_PREFIX}${newId()}`);
  const all = identity === undefined ? identities : [identity, ...identities];
  return runBackupTask({ kind: "verify", path, into, identities: all }, signal);
}

interface VerifyOptions {
  signal?: AbortSignal | undefined;
  identity?: string | undefined;
  identities?: readonly string[];
}

/** A backup file; `at`: epoch ms. */
export interface BackupFileInfo {
  name: string;
  at: number;
  bytes: number;
  encrypted: boolean;
}

/** The backups in `folder`, which may be missing, newest first. */
export async function listBackups(folder: string): Promise<BackupFileInfo[]> {
  const found: BackupFileInfo[] = [];
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const at = backupTimeOf(name);
    if (at === null) continue;
    found.push({ name, at, bytes: (await stat(join(folder, name))).size, encrypted: isEncryptedName(name) });
  }
  return found.sort((one, other) => other.at - one.at);
}

/** Deletes expired scheduled backups in `folder`. */
export async function pruneBackups(folder: string, retention: BackupRetention): Promise<void> {
  const names = readdirSync(folder).filter(isScheduledBackup);
  const timesOf = new Map(names.map((name) => [name, backupTimeOf(name)]));
  const expired = new Set<number | null>(
    expiredBackups(
      [...timesOf.values()].flatMap((at) => at ?? []),
      retention,
    ),
  );
  for (const name of names.filter((each) => expired.has(timesOf.get(each) ?? null))) {
    await rm(join(folder, name), { force: true });
    if (isEncryptedName(name)) await rm(labelPathOf(join(folder, name)), { force: true });
  }
}

/** Deletes temporary folders of killed processes in `folder`, which may be missing. */
export async function removeLeftovers(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (name.startsWith(WORKING_PREFIX)) await removeFolder(join(folder, name));
}

/** Database copy, archive and unpacked copy may exist at the same time. */
async function requireFreeSpace(folder: string, store: TakeBackupDeps["store"], copies: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const database = store.one<{ n: number }>(
    "SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size",
  );
  const needed = copies * (database?.n ?? 0);
  if (bavail * bsize >= needed) return;
  const missing = Math.ceil((needed - bavail * bsize) / 1_048_576);
  throw new UpstreamError(
    "storage-full",
    sentence("error.not-enough-disk-space-for-a-backup-in-folder-missing-mib-more-needed", { folder, missing }),
  );
}
