import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { buildClient } from "./client.mjs";
import { withProgress } from "./progress.mjs";
import { filesBelow, fingerprint, say } from "./tree.mjs";

/** The browser app's sources; the compiler leaves them to Vite. */
const CONSOLE_FOLDER = "src/console/web";

/**
 * What there is to build: `main` is the product, `harness` adds the benchmarks and the fault runs.
 * @typedef {"main" | "harness"} Part
 */

/**
 * What a part is built from.
 * @type {Record<Part, {folders: string[], files: string[]}>}
 */
const PARTS = {
  main: {
    folders: ["src", "plugins"],
    files: ["package.json", "package-lock.json", ".ci/setup/bundle.mjs", ".ci/setup/client.mjs"],
  },
  harness: {
    folders: ["src", "plugins", "test/bench", "test/contract", "test/faults", "test/sim", "test/support"],
    files: ["package.json", "package-lock.json", ".ci/setup/bundle.mjs"],
  },
};

/**
 * True when dist/ was built from the sources as they are now.
 * @param {string} root
 * @param {Part} part
 */
export function built(root, part) {
  const stamps = readStamps(root);
  return stamps[part] === fingerprint(root, sourcesOf(root, part)) && (stamps.console ?? null) === consoleStamp(root);
}

/**
 * Builds the browser app into dist/console when its sources are newer. Returns false when that failed.
 * @param {string} root
 */
function buildConsole(root) {
  const stamp = consoleStamp(root);
  if ((readStamps(root).console ?? null) === stamp) return true;
  say("set-up: building the console …");
  const args = [join(root, "node_modules/vite/bin/vite.js"), "build", "-c", join(root, ".ci/vite.config.ts")];
  // Tests that build first run with NODE_ENV=test, which would make a development build: larger, slower, talkative.
  const env = { ...process.env, NODE_ENV: "production" };
  const vite = () => spawnSync(process.execPath, args, { cwd: root, env, stdio: ["ignore", 2, 2] });
  if (withProgress({ what: "building the console" }, vite).status !== 0) {
    say("set-up: the console could not be built");
    return false;
  }
  writeFileSync(stampPath(root), JSON.stringify({ ...readStamps(root), console: stamp }));
  return true;
}

/**
 * Differs as soon as anything differs that the console is built from: its own files, the constants it takes from other
 * rooms, its packages. Null for a tree without a console.
 * @param {string} root
 */
function consoleStamp(root) {
  const rooms = ["src/lib", "src/devices", "src/resources"].flatMap((folder) => filesBelow(join(root, folder)));
  const own = filesBelow(join(root, CONSOLE_FOLDER));
  if (own.length === 0) return null;
  const settings = [".ci/vite.config.ts", "package-lock.json"].map((file) => join(root, file));
  return fingerprint(root, [...own, ...rooms, ...settings]);
}

/**
 * Bundles the product, and the harness when `part` asks for it, into dist/; builds the client and the console and copies
 * the plugins' manifests. Types are not looked at: `npm run check` does that. Returns false when a source can't be read;
 * the reason is on stderr, and no stamp is written.
 * @param {string} root
 * @param {Part} part
 */
export function build(root, part) {
  // Taken before building, so that an edit made meanwhile leaves the stamp stale.
  /** @type {Part[]} */
  const parts = part === "harness" ? ["main", "harness"] : ["main"];
  const stamps = Object.fromEntries(parts.map((each) => [each, fingerprint(root, sourcesOf(root, each))]));
  say(`set-up: building ${part === "main" ? "src and plugins" : "src, plugins and test harness"} …`);
  const bundle = join(import.meta.dirname, "bundle.mjs");
  for (const each of parts) {
    const { status } = withProgress({ what: `building, ${each}` }, () =>
      spawnSync(process.execPath, [bundle, root, each], { cwd: root, stdio: ["ignore", 2, 2] }),
    );
    if (status === 0) continue;
    say("set-up: there are faults in the sources");
    return false;
  }
  copyManifests(root);
  // The console is typed by the client.
  if (!buildClient(root)) return false;
  writeFileSync(stampPath(root), JSON.stringify({ ...readStamps(root), ...stamps }));
  return buildConsole(root);
}

/**
 * The files whose change makes `part` stale.
 * @param {string} root
 * @param {Part} part
 */
function sourcesOf(root, part) {
  const { folders, files } = PARTS[part];
  const web = join(root, CONSOLE_FOLDER);
  const found = folders.flatMap((folder) => filesBelow(join(root, folder))).filter((file) => !file.startsWith(web));
  return [...found.filter((file) => /\.(ts|json)$/.test(file)), ...files.map((file) => join(root, file))];
}

/** Files of plugins that the host reads without running them. @param {string} file */
function isReadByHost(file) {
  return /\/(plugin|sentences\/[\w-]+)\.json$/.test(file);
}

/**
 * Copies what the host reads of plugins into `out`, and forgets plugins that are gone.
 * @param {string} root
 * @param {string} [out]
 */
export function copyManifests(root, out = "dist") {
  const names = filesBelow(join(root, "plugins"))
    .filter(isReadByHost)
    .map((file) => relative(root, file));
  for (const old of filesBelow(join(root, out, "plugins"))) {
    const name = relative(join(root, out), old);
    if (isReadByHost(name) && !names.includes(name)) rmSync(old);
  }
  for (const name of names) {
    mkdirSync(dirname(join(root, out, name)), { recursive: true });
    copyFileSync(join(root, name), join(root, out, name));
  }
}

/** @param {string} root */
function stampPath(root) {
  return join(root, "dist/.stamps.json");
}

/** @param {string} root @returns {Partial<Record<Part | "console", string>>} */
function readStamps(root) {
  try {
    return JSON.parse(readFileSync(stampPath(root), "utf8"));
  } catch {
    return {};
  }
}
