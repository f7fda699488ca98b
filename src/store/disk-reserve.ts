import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { open, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** Reserved disk space for emergencies: a file that is deleted once the disk is full. */
export interface DiskReserve {
  /** Deletes the reserve; false when there is none. */
  release(): boolean;
  /** Creates the reserve if it is missing and enough space is free. Never throws. */
  allocate(): Promise<void>;
}

const CHUNK_BYTES = 1_048_576;
/**
 * The free space must be this many times the reserve before it is created, so that the reserve does not fill the disk.
 */
const MIN_FREE_FACTOR = 4;

/**
 * A reserve of `bytes` in the file `path`, not allocated yet. It holds random bytes because some file systems store
 * zeros as holes. On a full disk even a delete fails until a file beside the database is removed. @source
 * docs/decisions/0038-reliability.md, 1. Traps
 */
export function createDiskReserve(path: string, bytes: number): DiskReserve {
  let isAllocating = false;
  let released = 0;

  const writeReserve = async (): Promise<void> => {
    if (((await stat(path).catch(() => null))?.size ?? 0) >= bytes) return;
    const { bavail, bsize } = await statfs(dirname(path));
    if (bavail * bsize < MIN_FREE_FACTOR * bytes) return;
    const before = released;
    const file = await open(path, "w", 0o600);
    try {
      for (let at = 0; at < bytes && released === before; at += CHUNK_BYTES)
        await file.write(randomBytes(Math.min(CHUNK_BYTES, bytes - at)));
    } finally {
      await file.close();
    }
  };

  return {
    release() {
      released++;
      try {
        rmSync(path);
        return true;
      } catch {
        return false;
      }
    },
    async allocate() {
      if (isAllocating) return;
      isAllocating = true;
      // A partial file would itself fill the disk, or a quota that statfs does not report.
      await writeReserve().catch(() => rmSync(path, { force: true }));
      isAllocating = false;
    },
  };
}
