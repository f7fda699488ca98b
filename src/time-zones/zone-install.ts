import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { extract, type ReadEntry } from "tar";
import { replaceFile } from "../lib/durable-file.ts";
import { CallerError, invalidValue } from "../lib/errors.ts";
import { verifySignedDocument } from "../lib/signed-document.ts";
import { TzifError } from "./tzif.ts";
import { readZoneDocument, verifyZoneDocument, type ZoneDocument, zoneDocumentFile } from "./zone-document.ts";
import { isSafeZoneName, versionOfFolder } from "./zone-sources.ts";

/** How the sender of a file is proven: by a signature of one of `keys`, or by the SHA-256 (hex) of the whole file. */
export interface FileProof {
  sha256: string | null;
  /** Public keys in the form of the settings. */
  keys: readonly string[];
}

const MAX_FILE_BYTES = 32 * 1_048_576;
/** The sources of the database that zic compiles. @source tz database, Makefile, PRIMARY_YDATA and backward */
const SOURCE_FILES = [
  ...["africa", "antarctica", "asia", "australasia", "europe", "northamerica", "southamerica", "etcetera", "backward"],
] as const;
/** Copies and names that are no zones. */
const SKIPPED = new Set(["posix", "right", "localtime", "posixrules", "Factory"]);
const COMPILERS = ["zic", "/usr/sbin/zic"] as const;
const COMPILE_TIMEOUT_MS = 60_000;

const run = promisify(execFile);

/**
 * Reads a time zone database from a file: a signed document (JSON), or, proven by its SHA-256, a .tar.gz with compiled
 * zones or with the sources of the database, which zic of the machine compiles. Throws CallerError for any other file.
 */
export async function readZoneFile(path: string, proof: FileProof): Promise<ZoneDocument> {
  const bytes = readWhole(path);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  if (proof.sha256 !== null && proof.sha256.toLowerCase() !== sha256)
    throw invalidValue("sha256", `Does not match the file, whose SHA-256 is ${sha256}.`);
  if (bytes[0] === 0x7b && proof.sha256 === null)
    return checked(() =>
      readZoneDocument(JSON.stringify(verifySignedDocument(bytes.toString("utf8"), proof.keys, "time-zones"))),
    );
  if (proof.sha256 === null)
    throw new CallerError("invalid-value", "The file is not signed: give the SHA-256 that its publisher names.");
  if (bytes[0] === 0x7b) return checked(() => readZoneDocument(bytes.toString("utf8")));
  return readArchive(path);
}

/** Reads a folder of compiled zones, such as /usr/share/zoneinfo. Throws CallerError if it is none. */
export function readZoneFolder(folder: string, version: string | null = versionOfFolder(folder)): ZoneDocument {
  if (version === null) throw new CallerError("invalid-value", "The database does not name its version.");
  const zones: Record<string, string> = {};
  const links: Record<string, string> = {};
  const firstNames = new Map<string, string>();
  for (const name of filesBelow(folder, "")) {
    const bytes = readFileSync(join(folder, name));
    if (bytes.toString("latin1", 0, 4) !== "TZif" || !isSafeZoneName(name)) continue;
    const content = bytes.toString("base64");
    const first = firstNames.get(content);
    if (first === undefined) {
      firstNames.set(content, name);
      zones[name] = content;
    } else links[name] = first;
  }
  return checked(() => ({ version, zones, links }));
}

/** Installs a database for the daemon on `dataDir`, which notices it within seconds; replaces an earlier one at once. */
export function installZones(folder: string, document: ZoneDocument, now: number): void {
  const text = JSON.stringify({ ...document, installedAt: new Date(now).toISOString() } satisfies ZoneDocument);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const target = zoneDocumentFile(folder);
  replaceFile(target, text, { mode: 0o644 });
}

async function readArchive(path: string): Promise<ZoneDocument> {
  const stage = await mkdtemp(join(tmpdir(), "carillon-time-zones-"));
  try {
    const aliases = await unpack(path, stage);
    const root = rootOf(stage);
    const isSource = SOURCE_FILES.every((name) => statSync(join(root, name), { throwIfNoEntry: false })?.isFile());
    const version = versionOfFolder(root);
    const document = isSource ? readZoneFolder(await compile(root, stage), version) : readZoneFolder(root, version);
    const prefix = root === stage ? "" : `${root.slice(stage.length + 1)}/`;
    for (const [alias, target] of aliases) {
      const [name, meaning] = [alias, target].map((each) =>
        each.startsWith(prefix) ? each.slice(prefix.length) : each,
      );
      if (name === undefined || meaning === undefined || !isSafeZoneName(name) || SKIPPED.has(name.split("/")[0] ?? ""))
        continue;
      const first = document.zones[meaning] === undefined ? document.links[meaning] : meaning;
      if (first !== undefined && document.zones[name] === undefined) document.links[name] = first;
    }
    return checked(() => document);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** Unpacks regular files only; returns the symbolic links by path, with their targets relative to the archive. */
async function unpack(path: string, stage: string): Promise<Map<string, string>> {
  const aliases = new Map<string, string>();
  let bytes = 0;
  try {
    await extract({
      ...{ file: path, cwd: stage, strict: true, preserveOwner: false },
      filter: (name, entry) => {
        const { type, linkpath = "", size = 0 } = entry as ReadEntry;
        const plain = posix.normalize(name);
        if (type === "SymbolicLink") aliases.set(plain, posix.normalize(posix.join(posix.dirname(plain), linkpath)));
        bytes += size;
        if (bytes > MAX_FILE_BYTES) throw new TzifError("too large");
        return type === "File" || type === "OldFile" || type === "Directory" || type === "Link";
      },
    });
  } catch (error) {
    if (error instanceof TzifError) throw unusable(error.message);
    throw unusable("not a readable .tar.gz archive");
  }
  return aliases;
}

/** The folder of the database in an unpacked archive: its top, or its only folder such as `zoneinfo`. */
function rootOf(stage: string): string {
  let folder = stage;
  for (let depth = 0; depth < 4; depth++) {
    const entries = readdirSync(folder, { withFileTypes: true });
    const [only] = entries;
    if (entries.length !== 1 || !only?.isDirectory()) break;
    folder = join(folder, only.name);
  }
  return folder;
}

async function compile(root: string, stage: string): Promise<string> {
  const target = join(stage, "compiled");
  const files = SOURCE_FILES.map((name) => join(root, name));
  for (const compiler of COMPILERS) {
    try {
      await run(compiler, ["-d", target, ...files], { timeout: COMPILE_TIMEOUT_MS });
      return target;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        throw unusable(`zic refuses it: ${String((error as { stderr?: unknown }).stderr ?? error).slice(0, 500)}`);
    }
  }
  throw unusable("the archive holds the sources of the database, and zic is missing here: apt-get install libc-bin");
}

function filesBelow(folder: string, prefix: string): string[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      if (prefix === "" && SKIPPED.has(entry.name)) return [];
      const name = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
      const kind = statSync(join(folder, name), { throwIfNoEntry: false });
      if (kind?.isDirectory()) return filesBelow(folder, name);
      return kind?.isFile() ? [name] : [];
    });
}

function readWhole(path: string): Buffer {
  let size: number;
  try {
    size = statSync(path).size;
    if (size <= MAX_FILE_BYTES) return readFileSync(path);
  } catch {
    throw new CallerError("invalid-value", `Can't read ${path}.`);
  }
  throw unusable("too large");
}

/** Verifies every zone; turns what is wrong into an error of the caller. */
function checked(read: () => ZoneDocument): ZoneDocument {
  try {
    const document = read();
    verifyZoneDocument(document);
    return document;
  } catch (error) {
    if (error instanceof TzifError) throw unusable(error.message);
    throw error;
  }
}

function unusable(reason: string): CallerError {
  return new CallerError("invalid-value", `Unusable time zone data: ${reason}.`);
}
