import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { invalidValue } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";

/**
 * Puts the version in `folder`, which belongs to a package, into `<root>/versions/<its version>`, atomically, and returns
 * its number. Its files are hard links where the file system allows: a package manager replaces files by new ones, so they
 * stay as they are when the package is upgraded or removed. `check` may throw for the number before anything is changed.
 * Throws CallerError for a folder without a version.
 */
export function placePackagedVersion(folder: string, root: string, check: (version: string) => void): string {
  const version = packagedVersion(folder);
  check(version);
  const versions = join(root, "versions");
  const [stage, target] = [join(versions, `.working-${newId()}`), join(versions, version)];
  mkdirSync(versions, { recursive: true, mode: 0o755 });
  try {
    linkTree(folder, join(stage, "new"));
    if (existsSync(target)) renameSync(target, join(stage, "old"));
    renameSync(join(stage, "new"), target);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
  return version;
}

/** Number of the version in `folder`. Throws CallerError for a folder without a version. */
export function packagedVersion(folder: string): string {
  try {
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: unknown };
    if (typeof version === "string" && /^\d+\.\d+\.\d+[\w.-]*$/.test(version)) return version;
  } catch {
    // Reported below.
  }
  throw invalidValue("installed", "Must be the folder of an installed version, with its package.json.");
}

function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o755 });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isFile()) linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    // Another file system, or one without hard links; a real fault shows again here.
    copyFileSync(source, target);
  }
}
