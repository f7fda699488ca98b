import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative, resolve } from "node:path";

/** Text of files by path relative to the repository, with `/`. Rules take nothing else, so they run on planted trees too. */
export type SourceTree = ReadonlyMap<string, string>;

/** The repository's folder. */
export const ROOT = resolve(import.meta.dirname, "../..");

const IGNORED_FOLDERS = new Set(["node_modules", "dist", "dist-packages", ".git", ".setup", "data", "coverage"]);

/** Reads the files below `folders` (relative; "." is the whole repository) whose path `wanted` accepts. */
export function readSourceTree(folders: readonly string[], wanted: (path: string) => boolean): SourceTree {
  const tree = new Map<string, string>();
  for (const folder of folders) {
    for (const path of pathsBelow(join(ROOT, folder))) {
      if (wanted(path)) tree.set(path, readFileSync(join(ROOT, path), "utf8"));
    }
  }
  return tree;
}

/** A planted tree: `{ "src/base/x.ts": "export …" }`. */
export function fixtureTree(files: Readonly<Record<string, string>>): SourceTree {
  return new Map(Object.entries(files));
}

/** The TypeScript files of a tree. */
export function typescriptOf(tree: SourceTree): [path: string, text: string][] {
  return [...tree].filter(([path]) => /\.tsx?$/.test(path));
}

/** The room of a file in src/: its first folder, or null for a file beside the rooms. */
export function moduleOf(path: string): string | null {
  return /^src\/([^/]+)\//.exec(path)?.[1] ?? null;
}

/** What a relative `specifier` in `from` names, relative to the repository. */
export function resolveFrom(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier);
}

function pathsBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return IGNORED_FOLDERS.has(entry.name) ? [] : pathsBelow(path);
    return entry.isFile() ? [relative(ROOT, path)] : [];
  });
}
