import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** Bytes that must be free in memory for tests to keep their folders there. */
const MIN_FREE_BYTES = 2 * 1024 ** 3;

/** Where folders of tests are made: in memory where the system has room there, since tests write much and keep nothing. */
const TEMP_ROOT = hasFreeSpace("/dev/shm") ? "/dev/shm" : tmpdir();

/** A new empty folder of the test file's own, absolute; removed with its content after the file's last test. */
export function makeTempDir(): string {
  const folder = mkdtempSync(join(TEMP_ROOT, "carillon-test-"));
  made.push(folder);
  return folder;
}

/** Removes what was made since it was called last; after each test file, since files of a process share this module. */
export function removeTempDirs(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}

function hasFreeSpace(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= MIN_FREE_BYTES;
  } catch {
    return false;
  }
}
