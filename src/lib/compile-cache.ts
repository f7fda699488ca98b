import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
// Not by name: a Node without it must get far enough to say that it is too old.
import module from "node:module";
import { join } from "node:path";

/** One version of Carillon fills about a hundred files; those of older versions are never used again. */
const MAX_FILES = 1_000;

/**
 * Lets V8 keep compiled code between starts: in the cache folder that systemd gives, else the user's. Never in a folder
 * for temporary files, where others could put code for this process to run. Covers threads and child processes, which
 * inherit the environment. A folder that can't be used only costs time.
 */
export function enableCompileCache(env: NodeJS.ProcessEnv): void {
  // Node itself follows NODE_COMPILE_CACHE.
  if (env.NODE_COMPILE_CACHE) return;
  try {
    const folder = cacheFolder(env);
    if (folder === null || statSync(folder).uid !== process.getuid?.()) return;
    if (readdirSync(folder, { recursive: true }).length > MAX_FILES) rmSync(folder, { recursive: true, force: true });
    if (module.enableCompileCache(folder).directory) env.NODE_COMPILE_CACHE = folder;
  } catch {
    // A read-only or full disk, or a folder of somebody else.
  }
}

function cacheFolder({ CACHE_DIRECTORY, XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): string | null {
  if (CACHE_DIRECTORY) return made(CACHE_DIRECTORY.split(":")[0] ?? "", ["code"]);
  if (XDG_CACHE_HOME) return made(XDG_CACHE_HOME, ["carillon", "code"]);
  return HOME ? made(HOME, [".cache", "carillon", "code"]) : null;
}

/** One level at a time: Node's recursive mkdir loops for ever below /proc, and a home that does not exist stays so. */
function made(base: string, levels: readonly string[]): string {
  return levels.reduce((parent, level) => {
    const folder = join(parent, level);
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    return folder;
  }, base);
}
