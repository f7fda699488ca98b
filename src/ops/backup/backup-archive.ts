import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { create, extract, type ReadEntry } from "tar";
import { syncFolder } from "../../lib/durable-file.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { withoutHardLinks } from "../../lib/tar-hard-links.ts";
import { type DatabaseSummary, inspectDatabase } from "../../store/database-inspection.ts";
import {
  type BackupLabel,
  decryptStream,
  encryptStream,
  inspectEncrypted,
  isEncryptedFile,
  labelPathOf,
  writeLabel,
} from "./backup-encryption.ts";
import {
  BACKUP_FOLDERS,
  type BackupFile,
  type BackupManifest,
  DATABASE_FILE,
  MANIFEST_CHECKSUM_FILE,
  MANIFEST_FILE,
  parseManifest,
} from "./backup-manifest.ts";
import { syncAfterBursts, writeThrottled } from "./throttled-writer.ts";

export interface PackRequest {
  dataDir: string;
  /** Working folder beside the target; contains the copy of the database. The caller deletes it. */
  stage: string;
  /** Final path of the archive. */
  target: string;
  about: Pick<BackupManifest, "version" | "takenAt" | "keyFingerprint">;
  /** Public keys to encrypt to; none: a plain archive. */
  recipients?: readonly string[];
  /** Working folder beside `target` for an encrypted archive; the caller deletes it. Default: `stage`. */
  archiveDir?: string;
}

/** A backup that was taken or verified. */
export interface BackupReport {
  path: string;
  bytes: number;
  manifest: BackupManifest;
  /** What is damaged, as text; empty for an intact backup. */
  faults: string[];
  /**
   * Whether it is encrypted, and how far it was checked: `opened` was decrypted and compared, of `sealed` only the checksum,
   * of `unlabelled` only the structure was checked. Absent: not encrypted.
   */
  encryption?: "opened" | "sealed" | "unlabelled";
}

/**
 * Checks the copied database and packs it with the files into `target`, atomically. Throws UpstreamError if the copy is
 * damaged: earlier backups remain the last good ones.
 */
export async function packBackup(request: PackRequest): Promise<BackupReport> {
  const { dataDir, stage, target, about, recipients = [], archiveDir = stage } = request;
  const summary = inspectDatabase(join(stage, DATABASE_FILE));
  if (summary.faults.length > 0)
    throw new UpstreamError(
      "upstream",
      sentence("error.the-database-is-damaged-faults", { faults: summary.faults.join("; ") }),
    );
  const folders = BACKUP_FOLDERS.filter((folder) => existsSync(join(dataDir, folder)));
  for (const folder of folders) symlinkSync(join(dataDir, folder), join(stage, folder));
  const files = await describeFiles(stage, [DATABASE_FILE, ...folders.flatMap((folder) => filesBelow(stage, folder))]);
  const manifest: BackupManifest = { format: 1, ...about, rows: summary.rows, audit: summary.audit, files };
  await writeFile(join(stage, MANIFEST_FILE), JSON.stringify(manifest), { mode: 0o600 });
  await writeFile(join(stage, MANIFEST_CHECKSUM_FILE), await hashFile(join(stage, MANIFEST_FILE)), { mode: 0o600 });
  const archive = join(archiveDir, "whole.tar");
  const paths = [MANIFEST_CHECKSUM_FILE, MANIFEST_FILE, ...files.map(({ path }) => path)];
  const packing = create({ cwd: stage, portable: true, follow: true, strict: true, filter: withoutHardLinks }, paths);
  if (recipients.length === 0) await writeThrottled(packing, archive);
  else await writeEncrypted(packing, archive, { target, recipients, manifest });
  await rename(archive, target);
  await syncFolder(dirname(target));
  const { size } = await stat(target);
  return { path: target, bytes: size, manifest, faults: misnamedFileFaults(files) };
}

/** The label is in place before the archive: a backup without one could not be checked without an identity. */
async function writeEncrypted(
  packing: AsyncIterable<Uint8Array>,
  archive: string,
  { target, recipients, manifest }: { target: string; recipients: readonly string[]; manifest: BackupManifest },
): Promise<void> {
  const hash = createHash("sha256");
  let bytes = 0;
  async function* measured(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  await writeThrottled(measured(await encryptStream(packing, recipients)), archive);
  const { version, takenAt, keyFingerprint, audit } = manifest;
  const label = { version, takenAt, keyFingerprint, audit, bytes, sha256: hash.digest("hex") };
  await writeLabel(labelPathOf(archive), label);
  await rename(labelPathOf(archive), labelPathOf(target));
}

/**
 * Unpacks a backup into the empty folder `into` and verifies every file. Damage is reported in `faults`, not thrown.
 * `identities` decrypt an encrypted backup; without them it is not unpacked, and only its label and structure are checked.
 */
export async function unpackBackup(
  path: string,
  into: string,
  identities: readonly string[] = [],
): Promise<BackupReport> {
  const { size } = await stat(path);
  const isEncrypted = await isEncryptedFile(path);
  if (isEncrypted && identities.length === 0) return reportSealed(path, size);
  const encryption = isEncrypted ? { encryption: "opened" as const } : {};
  const faults: string[] = [];
  await mkdir(into, { recursive: true, mode: 0o700 });
  let current: string | null = null;
  const onReadEntry = (entry: ReadEntry): void => {
    current = join(into, entry.path);
  };
  try {
    const unpacking = extract({ cwd: into, strict: true, preserveOwner: false, filter: isFileOrFolder, onReadEntry });
    const file = createReadStream(path);
    const archive = isEncrypted ? decryptStream(file, identities) : file;
    // As an async iterable: the extractor may request more data before a write has reported backpressure.
    await pipeline(Readable.from(syncAfterBursts(archive, () => current)), unpacking);
  } catch (error) {
    faults.push(`${basename(path)}: ${archiveErrorText(error)}`);
    // The files unpacked before are of no use, and their faults follow from this one.
    if (isEncrypted) return { path, bytes: size, manifest: NO_MANIFEST, faults, ...encryption };
  }
  const manifest = await readManifest(into, faults);
  if (!manifest) return { path, bytes: size, manifest: NO_MANIFEST, faults, ...encryption };
  for (const file of manifest.files) {
    const fault = await fileFault(into, file);
    if (fault) faults.push(fault);
  }
  if (existsSync(join(into, DATABASE_FILE))) faults.push(...databaseFaults(join(into, DATABASE_FILE), manifest));
  return { path, bytes: size, manifest, faults, ...encryption };
}

async function reportSealed(path: string, bytes: number): Promise<BackupReport> {
  const { label, faults } = await inspectEncrypted(path);
  const manifest = label === null ? NO_MANIFEST : { ...NO_MANIFEST, ...pickLabelled(label) };
  return { path, bytes, manifest, faults, encryption: label === null ? "unlabelled" : "sealed" };
}

function pickLabelled({ version, takenAt, keyFingerprint, audit }: BackupLabel): Partial<BackupManifest> {
  return { version, takenAt, keyFingerprint, audit };
}

/** Error of the extractor without its codes. @source node-tar, TAR_BAD_ARCHIVE and TAR_ENTRY_INVALID */
function archiveErrorText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/truncated|zlib: unexpected end/i.test(message)) return sentence("backup.truncated");
  return /^TAR_/.test(message) ? sentence("backup.not-tar") : message;
}

/** Links could point outside the folder; a backup has none. */
function isFileOrFolder(_path: string, given: unknown): boolean {
  const entry = given as ReadEntry;
  // The modes of the archive do not count: who made it could have set any.
  entry.mode = entry.type === "Directory" ? 0o700 : 0o600;
  return entry.type === "File" || entry.type === "Directory";
}

const NO_MANIFEST: BackupManifest = {
  ...{ format: 1, version: "0.0.0", takenAt: "", keyFingerprint: "" },
  ...{ rows: {}, audit: { number: 0, hash: "" }, files: [] },
};

async function readManifest(folder: string, faults: string[]): Promise<BackupManifest | null> {
  const [path, sum] = [join(folder, MANIFEST_FILE), join(folder, MANIFEST_CHECKSUM_FILE)];
  if (!existsSync(path)) {
    faults.push(sentence("backup.missing-manifest", { file: MANIFEST_FILE }));
    return null;
  }
  if (!existsSync(sum) || readFileSync(sum, "utf8") !== (await hashFile(path))) {
    faults.push(sentence("backup.modified-manifest", { manifest: MANIFEST_FILE, checksum: MANIFEST_CHECKSUM_FILE }));
  }
  try {
    return parseManifest(readFileSync(path, "utf8"));
  } catch (error) {
    faults.push((error as Error).message);
    return null;
  }
}

function databaseFaults(path: string, manifest: BackupManifest): string[] {
  let summary: DatabaseSummary;
  try {
    summary = inspectDatabase(path);
  } catch (error) {
    return [sentence("backup.unopened", { file: DATABASE_FILE, reason: (error as Error).message })];
  }
  const faults = summary.faults.map((fault) => `${DATABASE_FILE}: ${fault}`);
  for (const [table, rows] of Object.entries(manifest.rows)) {
    const found = summary.rows[table] ?? 0;
    if (found !== rows)
      faults.push(sentence("backup.row-count", { file: DATABASE_FILE, table, found, expected: rows }));
  }
  if (summary.audit.hash !== manifest.audit.hash)
    faults.push(sentence("backup.audit-differs", { file: DATABASE_FILE }));
  return faults;
}

async function fileFault(folder: string, { path, bytes, sha256 }: BackupFile): Promise<string | null> {
  const file = join(folder, path);
  if (!existsSync(file)) return sentence("backup.missing", { file: path });
  const { size } = await stat(file);
  if (size !== bytes) return sentence("backup.size", { file: path, found: size, expected: bytes });
  return (await hashFile(file)) === sha256 ? null : sentence("backup.modified", { file: path });
}

/** Uploaded files are named after their hash: a mismatch means that the file was damaged on the disk. */
function misnamedFileFaults(files: readonly BackupFile[]): string[] {
  return files
    .filter(({ path, sha256 }) => /^files\/[0-9a-f]{2}\/[0-9a-f]{64}$/.test(path) && basename(path) !== sha256)
    .map(({ path }) => sentence("backup.damaged-here", { file: path }));
}

async function describeFiles(folder: string, paths: readonly string[]): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  for (const path of paths) {
    const { size } = await stat(join(folder, path));
    files.push({ path, bytes: size, sha256: await hashFile(join(folder, path)) });
  }
  return files;
}

/** Paths relative to `root`, without incomplete uploads. */
function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesBelow(root, path);
    return entry.isFile() && !entry.name.startsWith("arriving-") ? [path] : [];
  });
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

export function removeFolder(folder: string): Promise<void> {
  // An extraction that failed may still be writing the files that it has begun.
  return rm(folder, { recursive: true, force: true, maxRetries: 10 });
}
