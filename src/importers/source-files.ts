import { createReadStream, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type loadDefinitions from "../resources/loads/load-definitions.ts";
import type { StoredFile } from "../schema/field.ts";
import type { RowOf } from "../schema/resource.ts";
import type { FileStore } from "../store/store.ts";
import { addTo, isHiddenEntry, type SourceFiles, singleEntry } from "./source-entries.ts";
import { openZipArchive } from "./zip-archive.ts";

export type LoadDefinition = RowOf<typeof loadDefinitions>;

/** Where sources are. */
export interface SourcePlace {
  /** Folder that contains the paths of definitions. */
  loadsDir: string;
  files: FileStore;
}

/** Entries read of a folder, and how deep. */
const MAX_ENTRIES = 1_000;
const MAX_DEPTH = 4;

/** Path of a source. Symbolic links that lead out of the loads folder are refused. */
export function sourcePath({ path, fileId }: LoadDefinition, { loadsDir, files }: SourcePlace): string {
  if (path === null) {
    if (fileId === null) throw invalidValue("path", sentence("field.must-be-set-unless-a-file-is-uploaded"));
    return files.pathOf({ sha256: fileId } as StoredFile);
  }
  const full = join(loadsDir, path);
  if (!existsSync(full)) throw invalidValue("path", sentence("field.path-was-not-found-in-the-loads-folder", { path }));
  const real = realpathSync(full);
  if (!real.startsWith(realpathSync(loadsDir) + sep))
    throw invalidValue("path", sentence("field.must-not-lead-out-of-the-loads-folder"));
  return real;
}

/** Opens a folder or a .zip. Throws CallerError for an invalid archive. */
export async function openSourceFiles(path: string): Promise<SourceFiles> {
  return statSync(path).isDirectory() ? openFolder(path) : openZipArchive(path);
}

function openFolder(folder: string): SourceFiles {
  const files = new Map<string, string[]>();
  let entries = 0;
  const scan = (at: string, depth: number): void => {
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      if (++entries > MAX_ENTRIES)
        throw invalidValue("path", sentence("field.must-have-at-most-limit-files", { limit: MAX_ENTRIES }));
      if (isHiddenEntry(entry.name)) continue;
      const path = join(at, entry.name);
      if (entry.isDirectory() && depth < MAX_DEPTH) scan(path, depth + 1);
      else if (entry.isFile()) addTo(files, basename(path).toLowerCase(), path);
    }
  };
  scan(folder, 1);
  return {
    async open(name) {
      const path = singleEntry(name, files.get(name.toLowerCase()));
      return path === null ? null : createReadStream(path);
    },
    has: (name) => files.has(name.toLowerCase()),
    close: () => undefined,
  };
}
