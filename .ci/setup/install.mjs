import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runNpm } from "./npm.mjs";
import { withProgress } from "./progress.mjs";
import { say } from "./tree.mjs";

/** @typedef {{version?: string, optional?: boolean, devOptional?: boolean, peer?: boolean}} LockEntry */

/**
 * Native modules, each with a program that uses it. All are Node-API: one that loads does so on every Node.
 * @type {Record<string, string>}
 */
const NATIVE = {
  "better-sqlite3": 'new (require("better-sqlite3"))(":memory:").close()',
  "@node-rs/argon2": 'require("@node-rs/argon2").hashSync("")',
};

/**
 * True when node_modules is what package-lock.json asks for, and its native modules load.
 * @param {string} root
 */
export function installed(root) {
  return readText(stampPath(root)) === wanted(root);
}

/**
 * Installs exactly what the lock says, and tries the native modules. Returns false when npm failed or one of them does not
 * load; the reason is on stderr.
 * @param {string} root
 */
export function install(root) {
  const stamp = wanted(root);
  if (!matchesLock(root) || nativeFault(root)) {
    if (lstatSync(join(root, "node_modules"), { throwIfNoEntry: false })?.isSymbolicLink()) {
      // npm would empty the folder that the link leads to, under whoever else works with it.
      say("set-up: node_modules is a link to packages that are not those of package-lock.json; install them there.");
      return false;
    }
    say("set-up: installing the packages of package-lock.json …");
    // No package needs a script; where better-sqlite3 has no binary, its own would compile for minutes.
    const result = withProgress(installTask(root), () => runNpm(["ci", "--include=dev", "--ignore-scripts"], root));
    if (result.status !== 0) {
      say(`set-up: npm ci failed${result.error ? `: ${result.error.message}` : ""}`);
      return false;
    }
    const fault = nativeFault(root);
    if (fault) {
      say(`set-up: ${fault}`);
      return false;
    }
  }
  writeFileSync(stampPath(root), stamp);
  return true;
}

/**
 * Uses each native module of the lock once, in a process of its own since a bad one ends its process. Returns the fault,
 * null when all load.
 * @param {string} root
 */
function nativeFault(root) {
  const packages = packagesOf(readFileSync(join(root, "package-lock.json"), "utf8"));
  for (const [name, use] of Object.entries(NATIVE)) {
    if (!packages[`node_modules/${name}`]) continue;
    const run = spawnSync(process.execPath, ["-e", use], { cwd: root, encoding: "utf8" });
    if (run.status === 0) continue;
    const reason =
      run.stderr.split("\n").find((line) => /^\w*Error\b/.test(line)) ?? run.signal ?? `exit code ${run.status}`;
    return `${name} does not load on Node ${process.versions.node}, ${process.platform}-${process.arch}: ${reason}`;
  }
  return null;
}

/**
 * Counts packages by their manifests, which npm writes while it unpacks.
 * @param {string} root
 * @returns {import("./progress.mjs").Task}
 */
function installTask(root) {
  const packages = Object.entries(packagesOf(readFileSync(join(root, "package-lock.json"), "utf8")));
  const files = packages.filter(([name, entry]) => name && !entry.optional).map(([name]) => `${name}/package.json`);
  return { what: "installing packages", parts: { folder: root, files, unit: "unpacked" } };
}

/**
 * True when npm's own record of node_modules already holds the lock's packages, as after `npm install`, and no stamp
 * says that they are those of another platform.
 * @param {string} root
 */
function matchesLock(root) {
  const stamp = readText(stampPath(root));
  if (stamp && platformOf(stamp) !== platformOf(wanted(root))) return false;
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
  return `${hash} ${process.platform}-${process.arch}\n`;
}

/** @param {string} stamp */
function platformOf(stamp) {
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
