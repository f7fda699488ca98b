import { createReadStream, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type ReadEntry, Unpack } from "tar";
import { CallerError, invalidValue } from "../../lib/errors.ts";

/** Large enough for a plugin with its packages; protects against archive bombs. */
const MAX_BYTES = 67_108_864;
const MAX_FILES = 10_000;

/**
 * Unpacks a .tgz, as created by `npm pack` and `tar`, to a folder below `workDir` named like the plugin. Throws CallerError
 * for other files and for archives above the limits; never writes outside `workDir`.
 */
export async function unpackPluginPackage(file: string, workDir: string): Promise<string> {
  const folder = join(workDir, "unpacked");
  mkdirSync(folder);
  let bytes = 0;
  let files = 0;
  // Links could point outside the folder; a plugin needs none.
  const filter = (_path: string, entry: unknown): boolean => {
    const { type, size } = entry as ReadEntry;
    bytes += size;
    files += 1;
    return (type === "File" || type === "Directory") && bytes <= MAX_BYTES && files <= MAX_FILES;
  };
  await pipeline(createReadStream(file), new Unpack({ cwd: folder, filter, strict: true })).catch(() => {
    throw invalidValue("folder", `${file} is not a readable .tgz archive.`);
  });
  if (bytes > MAX_BYTES || files > MAX_FILES)
    throw new CallerError("too-large", `${file} must contain at most ${MAX_FILES} files and ${MAX_BYTES} bytes.`);
  const [first, ...more] = readdirSync(folder);
  const top = first !== undefined && more.length === 0 ? join(folder, first) : folder;
  const named = join(workDir, nameIn(top));
  renameSync(top, named);
  return named;
}

/** The plugin's name in its manifest; if missing or invalid, a name that the check will reject. */
function nameIn(folder: string): string {
  try {
    const { name } = JSON.parse(readFileSync(join(folder, "plugin.json"), "utf8")) as { name?: unknown };
    return typeof name === "string" && /^[a-z][a-z0-9-]*$/.test(name) && name !== "plugins" ? name : "NAMELESS";
  } catch {
    return "NAMELESS";
  }
}
