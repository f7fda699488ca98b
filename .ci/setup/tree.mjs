import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/**
 * Every file below `folder`, absolute; empty when there is no such folder.
 * @param {string} folder
 * @returns {string[]}
 */
export function filesBelow(folder) {
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/**
 * One hash over names, sizes and change times of `files`: differs as soon as one is edited, added, moved or removed.
 * @param {string} base
 * @param {string[]} files
 */
export function fingerprint(base, files) {
  const hash = createHash("sha256");
  for (const file of [...files].sort()) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${relative(base, file)} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex");
}

/**
 * All output of the set-up goes to stderr: stdout belongs to the command that follows.
 * @param {string} line
 */
export function say(line) {
  process.stderr.write(`${line}\n`);
}
