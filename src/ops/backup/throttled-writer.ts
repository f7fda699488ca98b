import { open } from "node:fs/promises";

/**
 * Bytes written between two syncs. A COMMIT on the same disk waits for all pending writes, so a large unsynced write would block
 * the database. Measured: with 1 MiB the longest COMMIT took twice as long.
 */
const BURST_BYTES = 256 * 1_024;

/** Writes a new file readable by its owner only; synced to disk when it resolves. */
export async function writeThrottled(source: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    let unsynced = 0;
    for await (const chunk of source) {
      await file.writeFile(chunk);
      unsynced += chunk.length;
      if (unsynced < BURST_BYTES) continue;
      await file.datasync();
      unsynced = 0;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Passes `source` through and syncs the file currently named by `target` after each burst. */
export async function* syncAfterBursts(
  source: AsyncIterable<Uint8Array>,
  target: () => string | null,
): AsyncGenerator<Uint8Array> {
  let unsynced = 0;
  for await (const chunk of source) {
    yield chunk;
    unsynced += chunk.length;
    const path = target();
    if (unsynced < BURST_BYTES || path === null) continue;
    // A file that does not exist yet has nothing to sync.
    const file = await open(path, "r").catch(() => null);
    await file?.datasync();
    await file?.close();
    unsynced = 0;
  }
}
