import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { syncFolderNow } from "../lib/durable-file.ts";
import { BugError, UpstreamError } from "../lib/errors.ts";
import type { Secrets } from "./store.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Name of the credential, and of the file in the data directory. */
export const KEY_NAME = "secret-key";
export const KEY_BYTES = 32;

/**
 * The 32-byte secret key: the systemd credential `secret-key` if there is one, else a file beside the database. The
 * first call creates the file, unless sealed data exists already. Throws UpstreamError when the key is missing or
 * damaged, or when credential and file differ: values sealed with the other key could not be opened.
 * @source systemd.exec(5), LoadCredential
 */
export function loadSecretKey(
  dataDir: string,
  credentials = process.env.CREDENTIALS_DIRECTORY,
  isSealed = false,
): Buffer {
  const path = join(dataDir, KEY_NAME);
  const given = credentials === undefined ? null : join(credentials, KEY_NAME);
  if (given === null || !existsSync(given)) {
    if (isSealed && !existsSync(path)) throw missingKeyError(path, dataDir);
    if (!existsSync(path)) createKeyFile(path);
    return readKeyFile(path);
  }
  const key = readKeyFile(given);
  if (existsSync(path) && !readKeyFile(path).equals(key)) {
    throw new UpstreamError(
      "starting",
      `${path} and the credential ${KEY_NAME} must be the same key. Remove the wrong one.`,
    );
  }
  return key;
}

function missingKeyError(path: string, dataDir: string): UpstreamError {
  const message = `The secret key ${path} is missing, and the data is sealed with it. Restore the key. If it is a credential of the service, start the daemon first or set CREDENTIALS_DIRECTORY to its folder.`;
  return new UpstreamError("starting", message, { dataDir });
}

function createKeyFile(path: string): void {
  writeFileSync(path, randomBytes(KEY_BYTES), { flag: "wx", mode: 0o600, flush: true });
  syncFolderNow(dirname(path));
}

/** Reads a key file. Throws UpstreamError when the size is wrong, Node's error when it cannot be read. */
export function readKeyFile(path: string): Buffer {
  const key = readFileSync(path);
  if (key.length === KEY_BYTES) return key;
  throw new UpstreamError(
    "starting",
    `The secret key ${path} is damaged: it must have ${KEY_BYTES} bytes. Restore it from a backup.`,
  );
}

/** True for 32 bytes that are not plain text, which random bytes almost never are. */
export function looksLikeKey(bytes: Buffer): boolean {
  return (
    bytes.length === KEY_BYTES &&
    bytes.some((byte) => byte > 0x7e || (byte < 0x20 && !/\s/.test(String.fromCharCode(byte))))
  );
}

/** Identifies a key without revealing it: 16 hex digits of a SHA-256. */
export function keyFingerprint(key: Buffer): string {
  return hash("sha256", Buffer.concat([Buffer.from("carillon secret key\n"), key]), "hex").slice(0, 16);
}

/** Seals texts with AES-256-GCM; the sealed form is `v1:` and base64 of nonce, tag and cipher text. */
export function createSecrets(key: Buffer): Secrets {
  return {
    seal(plain) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return `v1:${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64")}`;
    },
    open(sealed) {
      const bytes = Buffer.from(sealed.replace(/^v1:/, ""), "base64");
      try {
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
      } catch (error) {
        throw new BugError("a secret was sealed with another key", {}, error);
      }
    },
  };
}
