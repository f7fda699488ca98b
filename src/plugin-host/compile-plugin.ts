import { cpSync, existsSync, readdirSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join, relative, resolve, sep } from "node:path";
import type { Plugin, RolldownOptions } from "rolldown";

/** Result of a build; the target folder is complete if there are no errors, each of them a sentence. */
export interface CompileResult {
  errors: string[];
  /** True if the sources contain a peer; `peer.js` was built as well. */
  hasPeer: boolean;
}

/** What the files of one entry may import besides `#plugin-api` and each other; null allows any package. */
interface ImportRules {
  node: boolean;
  packages: readonly string[] | null;
}

const PLUGIN_API = "#plugin-api";
/** Files that are not copied to the build. */
const EXCLUDED_FILES =
  /^(node_modules|package(-lock)?\.json|tsconfig\.json|peer\.[tj]s|tests?|index\.js|config\.js|signature\.json|\..+)$|\.ts$/;

/**
 * Builds a plugin from TypeScript or JavaScript sources: `index.js` and `config.js`, bundled with the manifest's
 * `packages`, and every other file that is not a source. Runs no plugin code.
 */
export async function compilePlugin(
  sources: string,
  packages: readonly string[],
  target: string,
  peerTarget: string,
): Promise<CompileResult> {
  const [index, config, peer] = ["index", "config", "peer"].map((name) => findEntry(sources, name));
  if (!index || !config) return { errors: [`${index ? "config" : "index"}.ts is missing.`], hasPeer: Boolean(peer) };
  // A link could lead to a secret of the machine that installs it.
  const linked = findLinks(sources);
  if (linked.length > 0) return { errors: linked.map((path) => `${path} is a link.`), hasPeer: Boolean(peer) };
  // Checked alone first: the core imports config.js in its own thread, so it must contain nothing but fields.
  const errors = await bundle({ config }, sources, { node: false, packages: [] }, null);
  errors.push(...(await bundle({ index, config }, sources, { node: true, packages }, target)));
  if (peer) errors.push(...(await bundle({ peer }, sources, { node: true, packages: null }, peerTarget)));
  const isPart = (path: string): boolean => path === sources || !EXCLUDED_FILES.test(basename(path));
  cpSync(sources, target, { recursive: true, filter: isPart });
  return { errors: [...new Set(errors)], hasPeer: Boolean(peer) };
}

/** Links in the sources, outside the folder of packages, whose managers make links. */
function findLinks(sources: string, folder = ""): string[] {
  return readdirSync(join(sources, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return entry.name === "node_modules" ? [] : [path];
    return entry.isDirectory() && entry.name !== "node_modules" ? findLinks(sources, path) : [];
  });
}

function findEntry(sources: string, name: string): string | undefined {
  return [`${name}.ts`, `${name}.js`].map((file) => join(sources, file)).find((file) => existsSync(file));
}

/** Bundles `input` into `target`, or only checks it if `target` is null; returns errors as sentences. */
async function bundle(
  input: Record<string, string>,
  sources: string,
  allowed: ImportRules,
  target: string | null,
): Promise<string[]> {
  const errors: string[] = [];
  const { rolldown } = await import("rolldown");
  const options: RolldownOptions = { input, platform: "node", logLevel: "silent", tsconfig: false };
  try {
    const bundled = await rolldown({ ...options, plugins: [guardImports(sources, allowed, errors)] });
    const names = { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" } as const;
    if (target === null) await bundled.generate({ format: "esm" });
    else await bundled.write({ dir: target, format: "esm", ...names });
    await bundled.close();
  } catch (error) {
    // A refused import also fails to resolve; its reason is already reported.
    if (errors.length === 0) errors.push(`Compilation failed: ${firstLines(error)}`);
  }
  return errors;
}

/** Checks imports of the plugin's own files, not those of its packages. */
function guardImports(sources: string, { node, packages }: ImportRules, errors: string[]): Plugin {
  const refuse = (importer: string, specifier: string, reason: string): null => {
    errors.push(`${relative(sources, importer)} imports ${specifier}: ${reason}.`);
    return null;
  };
  return {
    name: "guard-imports",
    resolveId(specifier, importer) {
      if (specifier === PLUGIN_API) return { id: PLUGIN_API, external: true };
      if (!importer?.startsWith(sources) || relative(sources, importer).split(sep).includes("node_modules"))
        return null;
      if (specifier.startsWith(".")) {
        const inside = !relative(sources, resolve(importer, "..", specifier)).startsWith("..");
        return inside ? null : refuse(importer, specifier, "a plugin must import only its own files");
      }
      if (isBuiltin(specifier)) {
        if (!specifier.startsWith("node:")) return refuse(importer, specifier, `use node:${specifier}`);
        return node ? null : refuse(importer, specifier, "config.ts must contain nothing but fields");
      }
      const [first = "", second] = specifier.split("/");
      const name = first.startsWith("@") ? `${first}/${second}` : first;
      if (packages?.includes(name) === false)
        return refuse(importer, specifier, "plugin.json does not list this package");
      return null;
    },
  };
}

function firstLines(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n").slice(0, 12).join("\n");
}
