import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";

/** Content-addressed files (SHA-256, hex); both ends of a link have such a store. */
export interface BlobStore {
  has(sha256: string): Promise<boolean>;
  /** Bytes received of an incomplete file; 0 if there are none. */
  partialSize(sha256: string): Promise<number>;
  /** Writes to an incomplete file at an offset. */
  append(sha256: string, at: number, bytes: Uint8Array): Promise<void>;
  /** Verifies the hash: true and the file is available, or false and the received bytes are deleted. */
  finalize(sha256: string): Promise<boolean>;
  /** At most `length` bytes; null if there is no such file. */
  read(sha256: string, at: number, length: number): Promise<Uint8Array | null>;
}

/** Files below `root` in the store's layout (`<first two digits>/<sha256>`); incomplete ones are `part-<sha256>`. */
export function createFileBlobStore(root: string): BlobStore {
  const pathOf = (sha256: string): string => join(root, sha256.slice(0, 2), sha256);
  const partialPathOf = (sha256: string): string => join(root, `part-${sha256}`);
  return {
    has: async (sha256) => existsSync(pathOf(sha256)),
    partialSize: async (sha256) => (await stat(partialPathOf(sha256)).catch(() => null))?.size ?? 0,
    async append(sha256, at, bytes) {
      await mkdir(root, { recursive: true, mode: 0o700 });
      const file = await open(partialPathOf(sha256), at === 0 ? "w" : "r+", 0o600);
      try {
        await file.write(bytes, 0, bytes.length, at);
      } finally {
        await file.close();
      }
    },
    async finalize(sha256) {
      const part = partialPathOf(sha256);
      if (!existsSync(part)) return existsSync(pathOf(sha256));
      const hash = createHash("sha256");
      await pipeline(createReadStream(part), hash);
      if (hash.digest("hex") !== sha256) {
        await rm(part, { force: true });
        return false;
      }
      await mkdir(dirname(pathOf(sha256)), { recursive: true, mode: 0o700 });
      await fsyncPath(part);
      await rename(part, pathOf(sha256));
      await fsyncPath(dirname(pathOf(sha256)));
      return true;
    },
    async read(sha256, at, length) {
      const file = await open(pathOf(sha256), "r").catch(() => null);
      if (!file) return null;
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
  };
}

/** Makes the write durable. */
async function fsyncPath(path: string): Promise<void> {
  const file = await open(path, "r");
  await file.sync();
  await file.close();
}
