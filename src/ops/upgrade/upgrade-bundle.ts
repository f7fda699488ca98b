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
import { verifySignedDocument } from "../../lib/signed-document.ts";
import { withoutHardLinks } from "../../lib/tar-hard-links.ts";
import { looksLikeKey } from "../../store/secrets.ts";

/** What a bundle says of itself, signed: every file of the version with its SHA-256 (hex). */
export interface UpgradeBundleManifest {
  version: string;
  files: Record<string, string>;
}

/** Name of the signed list within the archive, and beside the unpacked version. */
const MANIFEST_FILE = "bundle.json";
const CONTENT_FOLDER = "carillon";
/** own choice: several times the list of a version with all its libraries, which has not been checked when it is read */
const MAX_MANIFEST_BYTES = 32 * 1_048_576;

/**
 * Packs the folder of a built version (it has a package.json) into `target`, signed by a private key (PEM, Ed25519). Its
 * history in git, the data of appliances below it, keys and the target are left out, wherever they lie. Throws
 * CallerError for a key of another kind.
 */
export async function packUpgrade(folder: string, keyPem: string, target: string): Promise<UpgradeBundleManifest> {
  const key = parseSigningKey(keyPem);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  const files: Record<string, string> = {};
  // Of what was signed with, any spelling is left out, in any place: a PEM may begin with words of its own.
  const hashOfKey = createHash("sha256").update(keyPem).digest("hex");
  for (const path of filesBelow(folder, "", isPackable)) {
    const isTarget = resolve(folder, path) === resolve(target);
    if (isTarget || isPrivateKeyFile(folder, path)) continue;
    const hash = await hashFile(join(folder, path));
    if (hash !== hashOfKey) files[path] = hash;
  }
  const payload = Buffer.from(JSON.stringify({ version, files } satisfies UpgradeBundleManifest));
  const signature = sign(null, payload, key);
  const stage = join(dirname(target), `.working-${newId()}`);
  await mkdir(stage, { recursive: true });
  try {
    const list = { payload: payload.toString("base64"), signature: signature.toString("base64") };
    await writeFile(join(stage, MANIFEST_FILE), JSON.stringify(list));
    symlinkSync(resolve(folder), join(stage, CONTENT_FOLDER));
    const paths = [MANIFEST_FILE, ...Object.keys(files).map((path) => `${CONTENT_FOLDER}/${path}`)];
    const how = { gzip: true, portable: true, follow: true, strict: true, filter: withoutHardLinks };
    const packing = create({ cwd: stage, ...how }, paths);
    await pipeline(packing, createWriteStream(join(stage, "whole"), { flush: true }));
    // It is no secret, and whoever installs it is often somebody else.
    await chmod(join(stage, "whole"), 0o644);
    await rename(join(stage, "whole"), target);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
  return { version, files };
}

/**
 * Unpacks a bundle into `<versions>/<its version>` and answers that version. The folder is there whole or not at all.
 * Throws CallerError for a bundle that no trusted key signed, and for one whose files are not what was signed; what `check`
 * throws for its version comes before anything is replaced.
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
      // A file that is not there and a full disk are told as what they are.
      if (isSystemError(error)) throw error;
      throw refusedError("It is no archive that can be read.");
    });
    if (!existsSync(join(stage, MANIFEST_FILE))) throw refusedError("It holds no signed list.");
    const { version, files } = parseBundle(
      verifySignedDocument(readFileSync(join(stage, MANIFEST_FILE), "utf8"), keys),
    );
    check(version);
    const found = existsSync(join(stage, CONTENT_FOLDER)) ? filesBelow(join(stage, CONTENT_FOLDER), "") : [];
    const stranger = found.find((path) => files[path] === undefined);
    if (stranger !== undefined) throw refusedError(`${stranger} is not among what was signed.`);
    for (const [path, sha256] of Object.entries(files)) {
      const whole = join(stage, CONTENT_FOLDER, path);
      if (!found.includes(path) || (await hashFile(whole)) !== sha256)
        throw refusedError(`${path} is not what was signed.`);
    }
    await rm(join(versions, version), { recursive: true, force: true });
    await rename(join(stage, CONTENT_FOLDER), join(versions, version));
    return version;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/**
 * What a bundle says it holds. Only the list is read: unpacking looks at the files. Throws CallerError for one that no
 * trusted key signed, and for a file that this process may not read.
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
        // It is the first: the rest need not be read.
        packed.destroy();
      });
    },
  });
  await pipeline(packed, entries).catch((error: unknown) => {
    if (isSystemError(error)) throw unreadableFileError(file, error as NodeJS.ErrnoException);
  });
  if (text === null) throw refusedError("It holds no signed list.");
  return parseBundle(verifySignedDocument(text, keys));
}

function parseBundle(value: unknown): UpgradeBundleManifest {
  const { version, files } = (value ?? {}) as Partial<UpgradeBundleManifest>;
  const known =
    typeof version === "string" &&
    /^\d+\.\d+\.\d+[\w.-]*$/.test(version) &&
    typeof files === "object" &&
    files !== null;
  if (!known) throw refusedError("Its signed list can't be read.");
  return { version, files };
}

function isFileOrFolder(_path: string, entry: unknown): boolean {
  const { type } = entry as ReadEntry;
  return type === "File" || type === "Directory";
}

/** Links within the folder are followed to files; a loop can't be, as links to folders are left out. */
function filesBelow(root: string, folder: string, isWanted: (folder: string) => boolean = () => true): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = folder === "" ? name : `${folder}/${name}`;
    const kind = lstatSync(join(root, path));
    if (kind.isDirectory()) return isWanted(join(root, path)) ? filesBelow(root, path, isWanted) : [];
    return kind.isFile() ? [path] : [];
  });
}

/** Where the set-up installs Node. */
const SIDE_NODE = "/.ci/node/node_modules";

/** own choice: an appliance's data hold its secret key, which must not go to everybody who gets the version */
function isPackable(folder: string): boolean {
  // The Node that a clone on an old machine builds with is that machine's own.
  if (folder.endsWith(SIDE_NODE)) return false;
  return basename(folder) !== ".git" && !existsSync(join(folder, "carillon.db"));
}

/** own choice: longer than any private key in PEM */
const MAX_KEY_BYTES = 65_536;

/**
 * Whoever gets the version must not get what signs the next one, or opens what an appliance sealed: a file that is nothing
 * but a private key (PEM), or a secret key as `carillon key export` writes it. What libraries bring along is public anyway.
 */
function isPrivateKeyFile(folder: string, path: string): boolean {
  if (/(^|\/)node_modules\//.test(path)) return false;
  const { size } = lstatSync(join(folder, path));
  if (size > MAX_KEY_BYTES) return false;
  const bytes = readFileSync(join(folder, path));
  return looksLikeKey(bytes) || /^\s*-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(bytes.toString("utf8"));
}

/** The public half of a signing key, as settings name it: base64 of 32 bytes. Throws CallerError for another kind of key. */
export function upgradePublicKeyOf(keyPem: string): string {
  const { x = "" } = createPublicKey(parseSigningKey(keyPem)).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

function parseSigningKey(pem: string): KeyObject {
  let key: KeyObject | null = null;
  try {
    key = createPrivateKey(pem);
  } catch {
    // Told below.
  }
  if (key?.asymmetricKeyType === "ed25519") return key;
  throw new CallerError("invalid-value", "It is no private key of the kind Ed25519: carillon upgrade-key makes one.");
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** It may lie in the home folder of whoever offers it, where the daemon has no way in. */
function unreadableFileError(file: string, { code }: NodeJS.ErrnoException): CallerError {
  const why = code === "ENOENT" ? "there is no such file" : `the daemon's user may not (${code})`;
  return new CallerError("invalid-value", `${file} can't be read: ${why}.`);
}

function isSystemError(error: unknown): boolean {
  return typeof (error as { syscall?: unknown } | null)?.syscall === "string";
}

function refusedError(message: string): CallerError {
  return new CallerError("invalid-value", `The upgrade is refused. ${message}`);
}
