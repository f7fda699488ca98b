/**
 * Bundles the product, or the programs that measure and harm it, into dist/. A run loads some twenty files instead of six
 * hundred, which takes half the processor time of a start. Run as a process of its own by build.mjs:
 * `node bundle.mjs ROOT PART`; says nothing when all is well. Exit code 1 with words on stderr when a source can't be read.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { argv, exit } from "node:process";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { viteImportGlobPlugin } from "rolldown/experimental";
import { filesBelow, say } from "./tree.mjs";

/** Native code, or run-time files of their own: these stay in node_modules. */
export const LEFT_OUT = ["better-sqlite3", "@node-rs/argon2", "rolldown"];

/**
 * What is started by name: each becomes a file of its own at the place of its source. `chunks` holds what they share.
 * @type {Record<"main" | "harness", {folders: string[], entry: RegExp, chunks: string}>}
 */
const PARTS = {
  main: {
    folders: ["src", "plugins"],
    entry:
      /^src\/(main|tools\/simulator\/main|plugin-api\/index|.*-(worker|thread))\.ts$|^plugins\/[^/]+\/(index|config)\.ts$/,
    chunks: "chunks",
  },
  harness: {
    folders: ["test/bench", "test/contract", "test/faults", "test/sim"],
    entry: /\/(main|[^/]+-(server|worker))\.ts$/,
    chunks: "harness-chunks",
  },
};

/** The package that a specifier names. */
const PACKAGE = /^(@[^/]+\/)?[^/]+/;

/** @param {string} id */
function isDeclaration(id) {
  return /\/src\/resources\/.*\.ts$/.test(id) && /^export default /m.test(readFileSync(id, "utf8"));
}

/** The folder that a chunk lies in is known last: until then this stands for the way from it to dist/. */
const DIST = "__DIST__";

/**
 * A module asks where it lies to find its neighbours; wherever its code ends up, that is the place of its source in dist/.
 * @param {string} root
 * @returns {import("rolldown").Plugin}
 */
function keepPlaces(root) {
  return {
    name: "keep-places",
    transform(code, id) {
      if (!id.startsWith(join(root, "/")) || id.includes("node_modules") || !/import\.meta\.(url|dirname)/.test(code))
        return null;
      const place = relative(root, id).replace(/\.ts$/, ".js");
      const kept = code
        .replaceAll("import.meta.url", `new URL("${DIST}${place}", import.meta.url).href`)
        .replaceAll("import.meta.dirname", `new URL("${DIST}${dirname(place)}", import.meta.url).pathname`);
      // No line moves.
      return { code: kept, map: null };
    },
    renderChunk(code, chunk) {
      const way = relative(dirname(chunk.fileName), ".") || ".";
      return code.includes(DIST) ? { code: code.replaceAll(DIST, `${way}/`), map: null } : null;
    },
  };
}

/**
 * A single character above U+00FF makes V8 keep the whole file at two bytes a character for as long as the process lives,
 * which was 6 MB: such characters are written as escapes where they are few. No line moves.
 * @returns {import("rolldown").Plugin}
 */
function oneByteText() {
  return {
    name: "one-byte-text",
    generateBundle(_, written) {
      for (const file of Object.values(written)) {
        if (file.type !== "chunk") continue;
        const escaped = file.code.replace(/\\?[^\0-\xff]/g, (found) =>
          found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
        );
        if (escaped.length < 2 * file.code.length) file.code = escaped;
      }
    },
  };
}

/**
 * Writes the bundle and its list of files, and removes what the one before wrote and this one did not. Without packages,
 * these are loaded from node_modules: a bundle in a fifth of the time, which starts slower.
 * @param {string} root
 * @param {"main" | "harness"} part
 * @param {{out?: string, packages?: boolean}} [options]
 */
export async function bundle(root, part, { out = "dist", packages = true } = {}) {
  const { folders, entry, chunks } = PARTS[part];
  const sources = folders.flatMap((folder) => filesBelow(join(root, folder))).map((file) => relative(root, file));
  const entries = sources.filter((file) => entry.test(file));
  if (entries.length === 0) return;
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const bundled = new Set(packages ? Object.keys(dependencies).filter((name) => !LEFT_OUT.includes(name)) : []);
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries.map((file) => [file.replace(/\.ts$/, ""), join(root, file)])),
    platform: "node",
    // Chunks may export to one another what an entry holds.
    preserveEntrySignatures: "allow-extension",
    // Packages of the tests stay where they are too.
    external: (name, importer) =>
      LEFT_OUT.includes(name) ||
      (/^[@a-z]/.test(name) && !importer?.includes("node_modules") && !bundled.has(PACKAGE.exec(name)?.[0] ?? "")),
    resolve: { alias: { "#plugin-api": join(root, "src/plugin-api/index.ts") } },
    plugins: [viteImportGlobPlugin(), keepPlaces(root), oneByteText()],
    onLog: (level, log, tell) => {
      // An old package of the HTTP framework; it evaluates text of its own making.
      if (log.code !== "EVAL") tell(level, log);
    },
  });
  const { output } = await build.write({
    dir: join(root, out),
    format: "esm",
    sourcemap: true,
    // Names and lines are what a stack needs; the text itself would triple what a start reads.
    sourcemapExcludeSources: true,
    entryFileNames: "[name].js",
    chunkFileNames: `${chunks}/[name]-[hash].js`,
    codeSplitting: {
      // A declaration takes no neighbour with it: threads need the clock, commands the constants, and neither any declaration.
      includeDependenciesRecursively: false,
      groups: [{ name: "resources", test: isDeclaration }],
    },
  });
  await build.close();
  forget(
    join(root, out),
    `.${part}-files.json`,
    output.map(({ fileName }) => fileName),
  );
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string[]} written
 */
function forget(folder, name, written) {
  const list = join(folder, name);
  const before = existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : [];
  for (const file of before) if (!written.includes(file)) rmSync(join(folder, file), { force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(list, JSON.stringify(written));
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  const [, , root = "", part] = argv;
  await bundle(root, part === "harness" ? "harness" : "main").catch((fault) => {
    say(String(fault?.message ?? fault));
    exit(1);
  });
}
