import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { buildClient } from "./client.mjs";
import { filesBelow, fingerprint, say } from "./tree.mjs";

/** The browser app's sources; the compiler leaves them to Vite. */
const CONSOLE_FOLDER = "src/console/web";

/**
 * What there is to build: `main` is the product, `harness` adds the benchmarks and the fault runs.
 * @typedef {"main" | "harness"} Part
 */

/** @type {Record<Part, {project: string, folders: string[], files: string[]}>} */
const PARTS = {
  main: {
    project: "tsconfig.json",
    folders: ["src", "plugins"],
    files: ["tsconfig.json", "package.json", "package-lock.json", ".ci/setup/client.mjs"],
  },
  harness: {
    project: ".ci/tsconfig.harness.json",
    folders: ["src", "plugins", "test/bench", "test/faults", "test/support"],
    files: ["tsconfig.json", ".ci/tsconfig.harness.json", "package.json", "package-lock.json"],
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
  if (spawnSync(process.execPath, args, { cwd: root, env, stdio: ["ignore", 2, 2] }).status !== 0) {
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
  const rooms = ["src/base", "src/devices", "src/resources"].flatMap((folder) => filesBelow(join(root, folder)));
  const own = filesBelow(join(root, CONSOLE_FOLDER));
  if (own.length === 0) return null;
  const settings = [".ci/vite.config.ts", "package-lock.json"].map((file) => join(root, file));
  return fingerprint(root, [...own, ...rooms, ...settings]);
}

/**
 * Compiles `part` into dist/, builds the console, copies the plugins' manifests and removes what has lost its source.
 * Returns false when the compiler found faults; they are on stderr, and no stamp is written.
 * @param {string} root
 * @param {Part} part
 */
export function build(root, part) {
  // Taken before compiling, so that an edit made meanwhile leaves the stamp stale.
  /** @type {Part[]} */
  const parts = part === "harness" ? ["main", "harness"] : ["main"];
  const stamps = Object.fromEntries(parts.map((each) => [each, fingerprint(root, sourcesOf(root, each))]));
  say(`set-up: building ${part === "main" ? "src and plugins" : "src, plugins and test harness"} …`);
  const tsc = join(root, "node_modules/typescript-7/bin/tsc");
  const args = [tsc, "-p", join(root, PARTS[part].project)];
  const result = spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", 2, 2] });
  // The compiler writes its output in spite of faults, and tests run on it.
  copyManifests(root);
  if (result.status !== 0) {
    say("set-up: the compiler found faults");
    return false;
  }
  prune(root);
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

/** @param {string} root */
function copyManifests(root) {
  for (const file of filesBelow(join(root, "plugins"))) {
    if (!file.endsWith("/plugin.json")) continue;
    const target = join(root, "dist", relative(root, file));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(file, target);
  }
}

/**
 * Removes built files whose source is gone, so that a deleted declaration or plugin is not found any more.
 * @param {string} root
 */
function prune(root) {
  for (const folder of ["src", "plugins", "test"]) {
    for (const file of filesBelow(join(root, "dist", folder))) {
      const source = join(root, relative(join(root, "dist"), file)).replace(/\.js(\.map)?$/, ".ts");
      if (!existsSync(source)) rmSync(file);
    }
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
