import { open } from "node:fs/promises";

/**
 * As much is written before the disk has taken it. A COMMIT that comes meanwhile waits for all that is on the way to the
 * same disk, so that a large file written at once would hold up everything else. own choice: with 1 MiB the longest wait of a COMMIT was twice as long
 */
const BURST_BYTES = 256 * 1_024;

/** Writes a new file that only its owner reads; once it resolves, the disk has it. */
export async function writeThrottled(source: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    let waiting = 0;
    for await (const chunk of source) {
      await file.writeFile(chunk);
      waiting += chunk.length;
      if (waiting < BURST_BYTES) continue;
      await file.datasync();
      waiting = 0;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Passes `source` on, and has the disk take what came of it after each burst: all in the file that `target` names then. */
export async function* syncAfterBursts(
  source: AsyncIterable<Uint8Array>,
  target: () => string | null,
): AsyncGenerator<Uint8Array> {
  let waiting = 0;
  for await (const chunk of source) {
    yield chunk;
    waiting += chunk.length;
    const path = target();
    if (waiting < BURST_BYTES || path === null) continue;
    // One that is not there yet holds nothing.
    const file = await open(path, "r").catch(() => null);
    await file?.datasync();
    await file?.close();
    waiting = 0;
  }
}
