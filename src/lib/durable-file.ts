import { chmodSync, closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Replaces a file, or makes it, so that a crash or a power cut leaves the old or the new one, complete. `prepare` is called
 * with the path of the new file before it takes the place of the old one. `mode` is set whatever the umask.
 * @source fsync(2): the entry of a file in its folder is flushed with the folder, not with the file
 */
export function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, prepare }: { mode?: number; prepare?: (temporary: string) => void } = {},
): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, content, { mode: 0o600, flush: true });
  prepare?.(temporary);
  chmodSync(temporary, mode);
  renameSync(temporary, path);
  syncFolderNow(dirname(path));
}

/** Flushes the entries of a folder: files made, renamed and removed in it survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** As `syncFolder`, for what must not yield. */
export function syncFolderNow(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
