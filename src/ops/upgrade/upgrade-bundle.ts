import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from "node:fs";
import { chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { create, extract, Parser, type ReadEntry } from "tar";
import { CallerError } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { signedPayload, verifySignedDocument } from "../../lib/signed-document.ts";
import { withoutHardLinks } from "../../lib/tar-hard-links.ts";
import { looksLikeKey } from "../../store/secrets.ts";

/** Signed content list of a bundle: every file of the version with its SHA-256 (hex). */
export interface UpgradeBundleManifest {
  version: string;
  files: Record<string, string>;
}

/** File name of the signed list in the archive and beside the unpacked version. */
const MANIFEST_FILE = "bundle.json";
const CONTENT_FOLDER = "carillon";
/** Several times the list of a version with all its libraries; the list is read before its signature is verified. */
const MAX_MANIFEST_BYTES = 32 * 1_048_576;

/**
 * Packs the folder of a built version (with package.json) into `target`, signed with a private key (PEM, Ed25519). Git folders,
 * data directories of appliances, keys and the target itself are left out at any depth. Throws CallerError for another kind of
 * key.
 */
export async function packUpgrade(folder: string, keyPem: string, target: string): Promise<UpgradeBundleManifest> {
  const key = parseSigningKey(keyPem);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  const files: Record<string, string> = {};
  // The signing key itself is left out anywhere, even if its PEM begins with other text.
  const hashOfKey = createHash("sha256").update(keyPem).digest("hex");
  for (const path of filesBelow(folder, "", isPackable)) {
    const isTarget = resolve(folder, path) === resolve(target);
    if (isTarget || isPrivateKeyFile(folder, path)) continue;
    const hash = await hashFile(join(folder, path));
    if (hash !== hashOfKey) files[path] = hash;
  }
  const payload = signedPayload("upgrade", { version, files } satisfies UpgradeBundleManifest);
  const signature = sign(null, payload, key);
  const stage = join(dirname(target), `.working-${newId()}`);
  await mkdir(stage, { recursive: true });
  try {
    const list = { payload: payload.toString("base64"), signature: signature.toString("base64") };
    await writeFile(join(stage, MANIFEST_FILE), JSON.stringify(list));
    symlinkSync(resolve(folder), join(stage, CONTENT_FOLDER));
    const paths = [MANIFEST_FILE, ...Object.keys(files).map((path) => `${CONTENT_FOLDER}/${path}`)];
    const options = { gzip: true, portable: true, follow: true, strict: true, filter: withoutHardLinks };
    const packing = create({ cwd: stage, ...options }, paths);
    await pipeline(packing, createWriteStream(join(stage, "whole"), { flush: true }));
    // The bundle is no secret, and another user often installs it.
    await chmod(join(stage, "whole"), 0o644);
    await rename(join(stage, "whole"), target);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
  return { version, files };
}

/**
 * Unpacks a bundle into `<versions>/<its version>`, atomically, and returns that version. Throws CallerError unless a trusted
 * key signed it and all files match the signed list; `check` may throw for its version before anything is replaced.
 */
export async function unpackUpgrade(
  file: string,
  versions: string,
  keys: readonly string[],
  check: (version: string) => void,
): Promise<string> {
  const stage = join(versions, `.working-${newId()}`);
  await mkdir(stage, { recursive: true, mode: 0o755 });
  try {
    await pipeline(
      createReadStream(file),
      extract({ cwd: stage, strict: true, preserveOwner: false, filter: isFileOrFolder }),
    ).catch((error: unknown) => {
      // Missing files and a full disk keep their own errors.
      if (isSystemError(error)) throw error;
      throw refusedError(sentence("error.it-is-not-a-readable-tgz-archive"));
    });
    if (!existsSync(join(stage, MANIFEST_FILE))) throw refusedError(sentence("error.the-signed-list-is-missing"));
    const { version, files } = parseBundle(
      verifySignedDocument(readFileSync(join(stage, MANIFEST_FILE), "utf8"), keys, "upgrade"),
    );
    check(version);
    const unpacked = existsSync(join(stage, CONTENT_FOLDER)) ? filesBelow(join(stage, CONTENT_FOLDER), "") : [];
    const unlisted = unpacked.find((path) => files[path] === undefined);
    if (unlisted !== undefined)
      throw refusedError(sentence("error.path-is-not-in-the-signed-list", { path: unlisted }));
    for (const [path, sha256] of Object.entries(files)) {
      const unpackedPath = join(stage, CONTENT_FOLDER, path);
      if (!unpacked.includes(path) || (await hashFile(unpackedPath)) !== sha256)
        throw refusedError(sentence("error.path-does-not-match-the-signed-list", { path }));
    }
    await rm(join(versions, version), { recursive: true, force: true });
    await rename(join(stage, CONTENT_FOLDER), join(versions, version));
    return version;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/**
 * Reads the signed list of a bundle, without unpacking or checking the files. Throws CallerError unless a trusted key signed
 * it, and for a file that this process can't read.
 */
export async function readUpgradeManifest(file: string, keys: readonly string[]): Promise<UpgradeBundleManifest> {
  let text: string | null = null;
  const packed = createReadStream(file);
  const entries = new Parser({
    onReadEntry(entry) {
      const parts: Buffer[] = [];
      const isList = entry.path === MANIFEST_FILE && entry.size <= MAX_MANIFEST_BYTES;
      entry.on("data", (part: Buffer) => void (isList && parts.push(part)));
      entry.on("end", () => {
        if (isList) text = Buffer.concat(parts).toString("utf8");
        // The list is the first entry: stop reading.
        packed.destroy();
      });
    },
  });
  await pipeline(packed, entries).catch((error: unknown) => {
    if (isSystemError(error)) throw unreadableFileError(file, error as NodeJS.ErrnoException);
  });
  if (text === null) throw refusedError(sentence("error.the-signed-list-is-missing"));
  return parseBundle(verifySignedDocument(text, keys, "upgrade"));
}

function parseBundle(value: unknown): UpgradeBundleManifest {
  const { version, files } = (value ?? {}) as Partial<UpgradeBundleManifest>;
  const isValid =
    typeof version === "string" &&
    /^\d+\.\d+\.\d+[\w.-]*$/.test(version) &&
    typeof files === "object" &&
    files !== null;
  if (!isValid) throw refusedError(sentence("error.the-signed-list-is-invalid"));
  return { version, files };
}

/**
 * Leaves out links and devices. Modes are not signed, so those of the archive do not count: nothing is unpacked as setuid or
 * writable by others.
 */
function isFileOrFolder(_path: string, given: unknown): boolean {
  const entry = given as ReadEntry;
  const isExecutable = entry.type === "Directory" || ((entry.mode ?? 0) & 0o100) !== 0;
  entry.mode = isExecutable ? 0o755 : 0o644;
  return entry.type === "File" || entry.type === "Directory";
}

/** Regular files only, without links, so there can be no loops. */
function filesBelow(root: string, folder: string, isWanted: (folder: string) => boolean = () => true): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = folder === "" ? name : `${folder}/${name}`;
    const kind = lstatSync(join(root, path));
    if (kind.isDirectory()) return isWanted(join(root, path)) ? filesBelow(root, path, isWanted) : [];
    return kind.isFile() ? [path] : [];
  });
}

const SIDE_NODE = "/.ci/node/node_modules";

/** A data directory contains its secret key, which must not be distributed with the version. */
function isPackable(folder: string): boolean {
  // The Node that a clone on an old machine builds with belongs to that machine only.
  if (folder.endsWith(SIDE_NODE)) return false;
  return basename(folder) !== ".git" && !existsSync(join(folder, "carillon.db"));
}

/** Longer than any private key in PEM. */
const MAX_KEY_BYTES = 65_536;

/**
 * Recipients of a version must get neither the signing key nor a key that decrypts an appliance's secrets: true for a file
 * that is a private key (PEM) or a secret key as written by `carillon key export`. Keys inside libraries are public anyway.
 */
function isPrivateKeyFile(folder: string, path: string): boolean {
  if (/(^|\/)node_modules\//.test(path)) return false;
  const { size } = lstatSync(join(folder, path));
  if (size > MAX_KEY_BYTES) return false;
  const bytes = readFileSync(join(folder, path));
  return looksLikeKey(bytes) || /^\s*-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(bytes.toString("utf8"));
}

/** Public key of a signing key as in the settings: base64 of 32 bytes. Throws CallerError for another kind of key. */
export function upgradePublicKeyOf(keyPem: string): string {
  const { x = "" } = createPublicKey(parseSigningKey(keyPem)).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

/** A private key (PEM, Ed25519) made by `carillon upgrade-key`. Throws CallerError for another kind of key. */
export function parseSigningKey(pem: string): KeyObject {
  let key: KeyObject | null = null;
  try {
    key = createPrivateKey(pem);
  } catch {
    // Reported below.
  }
  if (key?.asymmetricKeyType === "ed25519") return key;
  throw new CallerError("invalid-value", "Must be an Ed25519 private key (PEM): create one with carillon upgrade-key.");
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** The file may be in a home folder that the daemon's user can't enter. */
function unreadableFileError(file: string, { code }: NodeJS.ErrnoException): CallerError {
  const reason =
    code === "ENOENT"
      ? sentence("error.file-not-found")
      : sentence("error.no-permission-for-the-daemon-s-user-code", { code: String(code) });
  return new CallerError("invalid-value", sentence("error.can-t-read-file-reason", { file, reason }));
}

function isSystemError(error: unknown): boolean {
  return typeof (error as { syscall?: unknown } | null)?.syscall === "string";
}

function refusedError(message: string): CallerError {
  return new CallerError("invalid-value", sentence("error.invalid-upgrade-message", { message }));
}
