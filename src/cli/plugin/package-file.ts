import { createReadStream, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type ReadEntry, Unpack } from "tar";
import { CallerError, invalidValue } from "../../lib/errors.ts";

/** own choice: room for a plugin with its packages. */
const MOST_BYTES = 67_108_864;
const MOST_FILES = 10_000;

/**
 * Unpacks a .tgz, as `npm pack` and `tar` make them, into a folder below `workDir` that has the plugin's name. Throws
 * CallerError for what is no such file or holds too much; nothing is ever written outside `workDir`.
 */
export async function unpackPluginPackage(file: string, workDir: string): Promise<string> {
  const folder = join(workDir, "unpacked");
  mkdirSync(folder);
  let bytes = 0;
  let files = 0;
  // Links could lead out of the folder; a plugin needs none.
  const filter = (_path: string, entry: unknown): boolean => {
    const { type, size } = entry as ReadEntry;
    bytes += size;
    files += 1;
    return (type === "File" || type === "Directory") && bytes <= MOST_BYTES && files <= MOST_FILES;
  };
  await pipeline(createReadStream(file), new Unpack({ cwd: folder, filter, strict: true })).catch(() => {
    throw invalidValue("folder", `${file} is no archive that can be read.`);
  });
  if (bytes > MOST_BYTES || files > MOST_FILES) throw new CallerError("too-large", `${file} holds too much.`);
  const [first, ...more] = readdirSync(folder);
  const top = first !== undefined && more.length === 0 ? join(folder, first) : folder;
  const named = join(workDir, nameIn(top));
  renameSync(top, named);
  return named;
}

/** The plugin's name by its manifest; a word that no plugin can have, for the check to complain of, when it has none. */
function nameIn(folder: string): string {
  try {
    const { name } = JSON.parse(readFileSync(join(folder, "plugin.json"), "utf8")) as { name?: unknown };
    return typeof name === "string" && /^[a-z][a-z0-9-]*$/.test(name) && name !== "plugins" ? name : "NAMELESS";
  } catch {
    return "NAMELESS";
  }
}
