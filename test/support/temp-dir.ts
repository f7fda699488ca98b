import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const made: string[] = [];

// Each test file loads this module anew, so the hook belongs to the file that imports it.
afterAll(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A new empty folder of the importing test file's own, absolute; removed with its content after the file's last test. */
export function makeTempDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "carillon-test-"));
  made.push(folder);
  return folder;
}
