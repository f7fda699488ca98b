import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { say } from "./tree.mjs";

/** @typedef {{version?: string, optional?: boolean, devOptional?: boolean, peer?: boolean}} LockEntry */

/**
 * True when node_modules is what package-lock.json asks for, built for this Node.
 * @param {string} root
 */
export function installed(root) {
  return readText(stampPath(root)) === wanted(root);
}

/**
 * Installs exactly what the lock says. Returns false when npm failed; its words are on stderr.
 * @param {string} root
 */
export function install(root) {
  const stamp = wanted(root);
  if (!matchesLock(root)) {
    if (lstatSync(join(root, "node_modules"), { throwIfNoEntry: false })?.isSymbolicLink()) {
      // npm would empty the folder that the link leads to, under whoever else works with it.
      say("set-up: node_modules is a link to packages that are not those of package-lock.json; install them there.");
      return false;
    }
    say("set-up: installing the packages of package-lock.json (a minute or two) …");
    const npm = process.env.npm_execpath;
    const [command, first] = npm?.endsWith(".js") ? [process.execPath, [npm]] : ["npm", []];
    const args = [...first, "ci", "--include=dev", "--loglevel=error"];
    const env = { ...headersBeside(process.execPath), ...process.env };
    const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], env });
    if (result.status !== 0) {
      say(`set-up: npm ci failed${result.error ? `: ${result.error.message}` : ""}`);
      say(
        "  If it was better-sqlite3: it needs github.com for its ready-made binary, or a C++ compiler, make, Python and",
      );
      say("  Node's headers (found in include/node beside Node's bin; elsewhere by npm_config_nodedir=FOLDER).");
      return false;
    }
  }
  writeFileSync(stampPath(root), stamp);
  return true;
}

/**
 * Where node-gyp finds the headers of this Node, which it would fetch from nodejs.org else; nothing where they are not
 * beside it, or are those of another one.
 * @param {string} execPath
 * @returns {Record<string, string>}
 */
export function headersBeside(execPath) {
  const folder = dirname(dirname(execPath));
  const version = readText(join(folder, "include/node/node_version.h"));
  const isThisNode = version?.includes(`#define NODE_MODULE_VERSION ${process.versions.modules}\n`);
  return isThisNode ? { npm_config_nodedir: folder } : {};
}

/**
 * True when npm's own record of node_modules already holds the lock's packages, as after `npm install`, and no stamp
 * says that they were built for another Node.
 * @param {string} root
 */
function matchesLock(root) {
  const stamp = readText(stampPath(root));
  if (stamp && abiOf(stamp) !== abiOf(wanted(root))) return false;
  const there = readText(join(root, "node_modules/.package-lock.json"));
  if (there === null) return false;
  const have = packagesOf(there);
  const want = packagesOf(readFileSync(join(root, "package-lock.json"), "utf8"));
  const names = new Set([...Object.keys(have), ...Object.keys(want)]);
  names.delete("");
  return [...names].every((name) =>
    have[name] ? have[name].version === want[name]?.version : want[name]?.optional || want[name]?.devOptional,
  );
}

/** @param {string} json @returns {Record<string, LockEntry>} */
function packagesOf(json) {
  return JSON.parse(json).packages ?? {};
}

/** @param {string} root */
function wanted(root) {
  const hash = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  return `${hash} ${process.platform}-${process.arch}-${process.versions.modules}\n`;
}

/** @param {string} stamp */
function abiOf(stamp) {
  return stamp.split(" ")[1];
}

/** @param {string} root */
function stampPath(root) {
  return join(root, "node_modules/.carillon-lock");
}

/** @param {string} path */
function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
