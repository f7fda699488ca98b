import { createHash } from "node:crypto";
import type { BlobStore } from "../../src/sync/files/blob-store.ts";

/** Files in memory. */
export interface MemoryBlobStore extends BlobStore {
  /** Puts a whole file in; returns its hash. */
  add(bytes: Uint8Array): string;
}

/** The hash that names a file. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Makes an empty place for files. */
export function createMemoryBlobStore(): MemoryBlobStore {
  const whole = new Map<string, Uint8Array>();
  const parts = new Map<string, Uint8Array>();
  const part = (sha256: string): Uint8Array => parts.get(sha256) ?? new Uint8Array();
  return {
    add(bytes) {
      whole.set(sha256Of(bytes), bytes);
      return sha256Of(bytes);
    },
    has: async (sha256) => whole.has(sha256),
    partialSize: async (sha256) => part(sha256).length,
    async append(sha256, at, bytes) {
      parts.set(sha256, Buffer.concat([part(sha256).subarray(0, at), bytes]));
    },
    async finalize(sha256) {
      const bytes = part(sha256);
      parts.delete(sha256);
      const isRight = sha256Of(bytes) === sha256;
      if (isRight) whole.set(sha256, bytes);
      return isRight;
    },
    read: async (sha256, at, length) => whole.get(sha256)?.subarray(at, at + length) ?? null,
  };
}
