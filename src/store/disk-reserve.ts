import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { open, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** Room on the disk that is kept for emergencies: a file that makes way once nothing else is left. */
export interface DiskReserve {
  /** Gives the room up; false when there is none. */
  release(): boolean;
  /** Takes the room where it is not taken and enough is left beside it. Never throws. */
  allocate(): Promise<void>;
}

const CHUNK_BYTES = 1_048_576;
/** So many times the room must be free before it is taken: it must not fill the disk itself. own choice */
const MIN_FREE_FACTOR = 4;

/**
 * Room of `bytes` in the file `path`, not taken yet. Its bytes are random, as some disks keep nothing of zeros.
 * @source reliability.md, The store, 5: even a removal fails on a full disk until a file beside the database is gone
 */
export function createDiskReserve(path: string, bytes: number): DiskReserve {
  let isTaking = false;
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
      if (isTaking) return;
      isTaking = true;
      // A part would be what fills the disk, or a quota that nobody sees beforehand.
      await writeReserve().catch(() => rmSync(path, { force: true }));
      isTaking = false;
    },
  };
}
