import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";

/**
 * Writes the entries `names` of `folder` as a tar archive to `target`: sorted, owned by root, with the time of the release.
 * Compressed with xz, as hard as `level` says, for a name that ends with .xz. Throws with the program's message when it fails.
 * @param {string} folder
 * @param {string[]} names
 * @param {string} target
 * @param {{epoch: number, level: string}} release
 */
export function writeTar(folder, names, target, { epoch, level }) {
  const plain = target.endsWith(".xz") ? target.slice(0, -3) : target;
  const owner = ["--owner=0", "--group=0", "--numeric-owner"];
  run("tar", ["--format=gnu", "--sort=name", `--mtime=@${epoch}`, ...owner, "-C", folder, "-cf", plain, ...names]);
  // Two threads always: their number changes what xz writes.
  if (plain !== target) run("xz", [`-${level}`, "-T2", "--no-adjust", "--force", plain]);
}

/**
 * Runs a program that must succeed.
 * @param {string} command
 * @param {string[]} args
 * @param {{env?: Record<string, string>, cwd?: string}} [options]
 */
export function run(command, args, { env = {}, cwd } = {}) {
  const result = spawnSync(command, args, {
    encoding: "utf8",
    maxBuffer: 64 * 1_048_576,
    env: { ...process.env, LC_ALL: "C.UTF-8", ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (result.error) throw new Error(`${command} can't be run: ${result.error.message}`);
  if (result.status !== 0) throw new Error(`${command} failed: ${result.stderr.trim().slice(-2_000)}`);
  return result.stdout;
}

/**
 * SHA-256 of a file (hex), read in parts.
 * @param {string} path
 */
export function sha256Of(path) {
  const hash = createHash("sha256");
  const part = Buffer.alloc(1_048_576);
  const file = openSync(path, "r");
  try {
    for (let size = readSync(file, part); size > 0; size = readSync(file, part)) hash.update(part.subarray(0, size));
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}
