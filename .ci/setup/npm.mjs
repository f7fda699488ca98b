import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** Where Debian's npm lies; its parts are found by Debian's Node alone. */
const DEBIAN = "/usr/share/nodejs/";

/**
 * Runs npm in `cwd`, on the Node that runs this program, whichever Node is first in PATH. Its output goes to stderr.
 * @param {string[]} args
 * @param {string} cwd
 */
export function runNpm(args, cwd) {
  const { command, first, env } = npmCommand();
  return spawnSync(command, [...first, ...args, "--loglevel=error", "--progress=false"], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", 2, 2],
  });
}

/**
 * The npm that started this program, else the one in PATH.
 * @returns {{command: string, first: string[], env: Record<string, string>}}
 */
export function npmCommand() {
  const script = process.env.npm_execpath ?? npmInPath();
  if (!script?.endsWith(".js")) return { command: "npm", first: [], env: {} };
  // It would refuse because its own Node is too old, which is not the one that runs the packages.
  if (script.startsWith(DEBIAN)) return { command: "npm", first: [], env: { npm_config_engine_strict: "false" } };
  // Scripts of packages call `node`.
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  return { command: process.execPath, first: [script], env: { PATH } };
}

function npmInPath() {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    try {
      return realpathSync(join(folder, "npm"));
    } catch {}
  }
  return null;
}
