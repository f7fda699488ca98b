import {
  chmodSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { LEFT_OUT } from "../setup/bundle.mjs";
import { runNpm } from "../setup/npm.mjs";
import { filesBelow, root } from "../setup/tree.mjs";

/**
 * What a package is for: `version` and `arch` (as Node names it), and the time of everything in it, seconds of the epoch.
 * `level`: how hard xz tries, 0 to 9.
 * @typedef {{version: string, arch: "x64" | "arm64", epoch: number, level: string}} Release
 */

/** @typedef {{dependencies?: Record<string, string>, optionalDependencies?: Record<string, string>, version?: string, os?: string[], cpu?: string[], libc?: string[], dev?: boolean}} LockEntry */

/** Documents of the repository that come with the product, and how it is configured. */
const DOCUMENTS = ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "docs", "config"];

/** Fields of package.json that the product reads, or that name it. */
const MANIFEST_FIELDS = ["name", "description", "license", "type", "engines", "imports"];

/**
 * Puts the product into the empty folder `folder`: the built files, documents, units, the Node runtime and the packages that
 * are not bundled. Every entry gets the time and the mode that the release says. Throws when something can't be had.
 * @param {string} folder
 * @param {Release} release
 */
export function buildTree(folder, release) {
  mkdirSync(folder, { recursive: true });
  for (const file of builtFiles(root)) copy(join(root, "dist", file), join(folder, "dist", file));
  for (const name of DOCUMENTS) cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const [name, text] of packagedUnits(root)) write(join(folder, "systemd", name), text);
  write(join(folder, "systemd/carillon-marking.nft"), readFileSync(join(root, "systemd/carillon-marking.nft"), "utf8"));
  write(join(folder, "package.json"), manifest(release.version));
  write(join(folder, "bin/carillon"), LAUNCHER, 0o755);
  addRuntime(folder, release);
  addNativePackages(folder, release);
  settle(folder, release.epoch);
}

/**
 * Files below dist/ that belong to the product: what the bundler wrote, the client, the console and the plugins' manifests.
 * @param {string} base
 * @returns {string[]}
 */
export function builtFiles(base) {
  const dist = join(base, "dist");
  /** @type {string[]} */
  const bundled = JSON.parse(readFileSync(join(dist, ".main-files.json"), "utf8"));
  const others = ["client", "console", "plugins"].flatMap((part) => filesBelow(join(dist, part)));
  const names = others.map((file) => file.slice(dist.length + 1));
  const wanted = names.filter(
    (name) => !name.endsWith(".stamp") && (!name.startsWith("plugins/") || name.endsWith(".json")),
  );
  return [...new Set([...bundled, ...wanted])].sort();
}

/** Runs Carillon on the runtime of its version; a daemon keeps both while another version becomes current. */
const LAUNCHER = `#!/bin/sh
here=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$here/node/bin/node" --enable-source-maps "$here/dist/src/main.js" "$@"
`;

/** How the units of systemd/ start the program where Node is that of the machine. */
const UNIT_COMMAND = "/usr/bin/node --enable-source-maps /opt/carillon/dist/src/main.js";

/**
 * The units as packages install them: they start the launcher of the current version, and the packet marks are settings.
 * The comment on setting them up by hand is left out.
 * @param {string} base
 * @returns {[string, string][]}
 */
export function packagedUnits(base) {
  const names = readdirSync(join(base, "systemd")).filter((name) => /\.(service|timer|path)$/.test(name));
  return names.sort().map((name) => {
    const text = readFileSync(join(base, "systemd", name), "utf8");
    const unit = text.slice(text.indexOf("[Unit]"));
    return [
      name,
      unit
        .replaceAll(UNIT_COMMAND, "/opt/carillon/bin/carillon")
        .replaceAll("/etc/systemd/system/carillon-marking.nft", "/etc/carillon/carillon-marking.nft"),
    ];
  });
}

/** @param {string} version */
function manifest(version) {
  const whole = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const kept = Object.fromEntries(MANIFEST_FIELDS.map((field) => [field, whole[field]]));
  return `${JSON.stringify({ ...kept, version, private: true }, null, 2)}\n`;
}

/**
 * The Node of .ci/node for the architecture, without its headers and manuals.
 * @param {string} folder
 * @param {Release} release
 */
function addRuntime(folder, { arch }) {
  const work = join(folder, ".work");
  for (const name of ["package.json", "package-lock.json"]) copy(join(root, ".ci/node", name), join(work, name));
  npmInstall(work, arch, `Node for ${arch}`);
  const from = join(work, "node_modules", `node-linux-${arch}`);
  for (const name of ["bin/node", "LICENSE"]) copy(join(from, name), join(folder, "node", name));
  rmSync(work, { recursive: true });
}

/**
 * The packages that stay outside the bundle, and what they need, exactly as in the lock file. Of better-sqlite3 only the
 * binary for the architecture is kept, without the sources of SQLite.
 * @param {string} folder
 * @param {Release} release
 */
function addNativePackages(folder, { arch }) {
  const work = join(folder, ".work");
  const lock = nativeLock(JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")));
  write(join(work, "package.json"), JSON.stringify({ name: "carillon-native", ...lock.packages[""] }));
  write(join(work, "package-lock.json"), JSON.stringify(lock));
  npmInstall(work, arch, `native packages for ${arch}`);
  const sqlite = join(work, "node_modules/better-sqlite3");
  for (const part of ["deps", "src", "binding.gyp"]) rmSync(join(sqlite, part), { recursive: true, force: true });
  const platform = `linux-${arch}`;
  for (const kind of ["prebuilds", "lib"])
    for (const name of readdirSync(join(sqlite, kind)))
      if (/^(darwin|linux|linuxmusl|win32)-/.test(name) && !name.startsWith(`${platform}.`))
        rmSync(join(sqlite, kind, name));
  for (const name of [".package-lock.json", ".bin"])
    rmSync(join(work, "node_modules", name), { recursive: true, force: true });
  cpSync(join(work, "node_modules"), join(folder, "node_modules"), { recursive: true });
  rmSync(work, { recursive: true });
}

/**
 * The part of a lock file that the unbundled packages need.
 * @param {{packages: Record<string, LockEntry>}} lock
 * @returns {{lockfileVersion: number, requires: boolean, packages: Record<string, LockEntry>}}
 */
export function nativeLock({ packages }) {
  /** @type {Record<string, LockEntry>} */
  const wanted = { "": { dependencies: {} } };
  /** Adds the package that code in `from` finds under this name. @param {string} from @param {string} name */
  const add = (from, name) => {
    const at = placesOf(from, name).find((place) => packages[place] !== undefined) ?? "";
    const entry = packages[at];
    if (at === "" || entry === undefined || wanted[at] !== undefined) return;
    wanted[at] = entry;
    for (const needed of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })) add(at, needed);
  };
  for (const name of LEFT_OUT) {
    const version = packages[`node_modules/${name}`]?.version;
    if (version === undefined) throw new Error(`package-lock.json does not have ${name}`);
    wanted[""] = { dependencies: { ...wanted[""]?.dependencies, [name]: version } };
    add("", name);
  }
  return { lockfileVersion: 3, requires: true, packages: wanted };
}

/** Where a package is looked for, nearest first. @param {string} from @param {string} name @returns {string[]} */
function placesOf(from, name) {
  if (from === "") return [`node_modules/${name}`];
  return [`${from}/node_modules/${name}`, ...placesOf(from.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, ""), name)];
}

/**
 * @param {string} folder
 * @param {string} arch
 * @param {string} what
 */
function npmInstall(folder, arch, what) {
  const platform = ["--os=linux", `--cpu=${arch}`, "--libc=glibc"];
  const { status } = runNpm(["ci", "--include=optional", "--ignore-scripts", ...platform], folder);
  if (status !== 0) throw new Error(`npm could not install ${what}`);
}

/**
 * Gives every entry its mode and the time of the release, so that two builds are equal.
 * @param {string} path
 * @param {number} epoch
 */
export function settle(path, epoch) {
  const kind = lstatSync(path);
  if (kind.isDirectory()) {
    for (const name of readdirSync(path)) settle(join(path, name), epoch);
    chmodSync(path, 0o755);
  } else if (kind.isFile()) chmodSync(path, (kind.mode & 0o100) !== 0 ? 0o755 : 0o644);
  lutimesSync(path, epoch, epoch);
}

/** @param {string} from @param {string} to */
function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

/** @param {string} path @param {string} text @param {number} [mode] */
export function write(path, text, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}
