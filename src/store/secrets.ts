import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { BugError, UpstreamError } from "../base/errors.ts";
import type { Secrets } from "./store.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The appliance's own 32-byte key, made on the first call. Throws UpstreamError when the key file is damaged. */
export function applianceKey(dataDir: string): Buffer {
  const path = join(dataDir, "secret-key");
  if (!existsSync(path)) {
    const file = openSync(path, "wx", 0o600);
    writeSync(file, randomBytes(32));
    fsyncSync(file);
    closeSync(file);
  }
  const key = readFileSync(path);
  if (key.length !== 32)
    throw new UpstreamError("starting", `${path} is damaged: 32 bytes expected. Restore it from a backup.`);
  return key;
}

/** Seals texts with AES-256-GCM; the sealed form is base64 of nonce, tag and cipher text after `v1:`. */
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
