import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { create, extract, type ReadEntry } from "tar";
import { UpstreamError } from "../../lib/errors.ts";
import { withoutHardLinks } from "../../lib/tar-hard-links.ts";
import { type DatabaseSummary, inspectDatabase } from "../../store/database-inspection.ts";
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

/** What a backup is packed from. */
export interface PackRequest {
  dataDir: string;
  /** Folder of the packing's own, beside the target; holds the copy of the database. Removed by whoever made it. */
  stage: string;
  /** Where the archive is put once it is whole. */
  target: string;
  about: Pick<BackupManifest, "version" | "takenAt" | "keyFingerprint">;
}

/** A backup that was made or looked through. */
export interface BackupReport {
  path: string;
  bytes: number;
  manifest: BackupManifest;
  /** What is damaged, in words that name it; empty for a good one. */
  faults: string[];
}

/**
 * Checks the copied database and packs it with the files into `target`, which is there whole or not at all. Throws
 * UpstreamError when the copy is damaged: the backups before it stay the last good ones.
 */
export async function packBackup({ dataDir, stage, target, about }: PackRequest): Promise<BackupReport> {
  const facts = inspectDatabase(join(stage, DATABASE_FILE));
  if (facts.faults.length > 0)
    throw new UpstreamError("upstream", `The database is damaged: ${facts.faults.join("; ")}`);
  const folders = BACKUP_FOLDERS.filter((folder) => existsSync(join(dataDir, folder)));
  for (const folder of folders) symlinkSync(join(dataDir, folder), join(stage, folder));
  const files = await describeFiles(stage, [DATABASE_FILE, ...folders.flatMap((folder) => filesBelow(stage, folder))]);
  const manifest: BackupManifest = { format: 1, ...about, rows: facts.rows, audit: facts.audit, files };
  await writeFile(join(stage, MANIFEST_FILE), JSON.stringify(manifest), { mode: 0o600 });
  await writeFile(join(stage, MANIFEST_CHECKSUM_FILE), await hashFile(join(stage, MANIFEST_FILE)), { mode: 0o600 });
  const whole = join(stage, "whole.tar");
  const paths = [MANIFEST_CHECKSUM_FILE, MANIFEST_FILE, ...files.map(({ path }) => path)];
  const packing = create({ cwd: stage, portable: true, follow: true, strict: true, filter: withoutHardLinks }, paths);
  await writeThrottled(packing, whole);
  await rename(whole, target);
  await syncFolder(dirname(target));
  const { size } = await stat(target);
  return { path: target, bytes: size, manifest, faults: misnamedFileFaults(files) };
}

/** Unpacks a backup into the empty folder `into` and checks every file of it. Never throws for a damaged one. */
export async function unpackBackup(path: string, into: string): Promise<BackupReport> {
  const { size } = await stat(path);
  const faults: string[] = [];
  await mkdir(into, { recursive: true, mode: 0o700 });
  let current: string | null = null;
  const onReadEntry = (entry: ReadEntry): void => {
    current = join(into, entry.path);
  };
  try {
    const unpacking = extract({ cwd: into, strict: true, preserveOwner: false, filter: isFileOrFolder, onReadEntry });
    // As a stream: what unpacks may ask for more before a write has said that it is full.
    await pipeline(Readable.from(syncAfterBursts(createReadStream(path), () => current)), unpacking);
  } catch (error) {
    faults.push(`${basename(path)}: ${archiveErrorText(error)}`);
  }
  const manifest = await readManifest(into, faults);
  if (!manifest) return { path, bytes: size, manifest: NO_MANIFEST, faults };
  for (const file of manifest.files) {
    const fault = await fileFault(into, file);
    if (fault) faults.push(fault);
  }
  if (existsSync(join(into, DATABASE_FILE))) faults.push(...databaseFaults(join(into, DATABASE_FILE), manifest));
  return { path, bytes: size, manifest, faults };
}

/** What the unpacker says of an archive, without its codes. @source node-tar, TAR_BAD_ARCHIVE and TAR_ENTRY_INVALID */
function archiveErrorText(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  if (/truncated|zlib: unexpected end/i.test(words)) return "its end is missing";
  return /^TAR_/.test(words) ? "it is no archive that can be read" : words;
}

/** Links could lead out of the folder; a backup has none. */
function isFileOrFolder(_path: string, entry: unknown): boolean {
  const { type } = entry as ReadEntry;
  return type === "File" || type === "Directory";
}

const NO_MANIFEST: BackupManifest = {
  ...{ format: 1, version: "0.0.0", takenAt: "", keyFingerprint: "" },
  ...{ rows: {}, audit: { number: 0, hash: "" }, files: [] },
};

async function readManifest(folder: string, faults: string[]): Promise<BackupManifest | null> {
  const [path, sum] = [join(folder, MANIFEST_FILE), join(folder, MANIFEST_CHECKSUM_FILE)];
  if (!existsSync(path)) {
    faults.push(`${MANIFEST_FILE} is missing: this is no backup of Carillon`);
    return null;
  }
  if (!existsSync(sum) || readFileSync(sum, "utf8") !== (await hashFile(path))) {
    faults.push(
      `${MANIFEST_FILE} is not what was saved: its bytes, or those of ${MANIFEST_CHECKSUM_FILE}, have changed`,
    );
  }
  try {
    return parseManifest(readFileSync(path, "utf8"));
  } catch (error) {
    faults.push((error as Error).message);
    return null;
  }
}

function databaseFaults(path: string, manifest: BackupManifest): string[] {
  let facts: DatabaseSummary;
  try {
    facts = inspectDatabase(path);
  } catch (error) {
    return [`${DATABASE_FILE} can't be opened: ${(error as Error).message}`];
  }
  const faults = facts.faults.map((fault) => `${DATABASE_FILE}: ${fault}`);
  for (const [table, rows] of Object.entries(manifest.rows)) {
    const found = facts.rows[table] ?? 0;
    if (found !== rows) faults.push(`${DATABASE_FILE}: ${table} has ${found} rows, ${rows} were saved`);
  }
  if (facts.audit.hash !== manifest.audit.hash) faults.push(`${DATABASE_FILE}: the audit ends elsewhere than it did`);
  return faults;
}

async function fileFault(folder: string, { path, bytes, sha256 }: BackupFile): Promise<string | null> {
  const whole = join(folder, path);
  if (!existsSync(whole)) return `${path} is missing`;
  const { size } = await stat(whole);
  if (size !== bytes) return `${path} has ${size} bytes, ${bytes} were saved`;
  return (await hashFile(whole)) === sha256 ? null : `${path} is not what was saved: its bytes have changed`;
}

/** Uploaded files are named by their content: one whose name does not fit was damaged on the disk. */
function misnamedFileFaults(files: readonly BackupFile[]): string[] {
  return files
    .filter(({ path, sha256 }) => /^files\/[0-9a-f]{2}\/[0-9a-f]{64}$/.test(path) && basename(path) !== sha256)
    .map(({ path }) => `${path} is damaged on this appliance: its bytes have changed since it was uploaded`);
}

async function describeFiles(folder: string, paths: readonly string[]): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  for (const path of paths) {
    const { size } = await stat(join(folder, path));
    files.push({ path, bytes: size, sha256: await hashFile(join(folder, path)) });
  }
  return files;
}

/** Paths relative to `root`; what is still arriving is left out. */
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

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync();
  await handle.close();
}

/** Removes a folder and all in it. */
export function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true });
}
