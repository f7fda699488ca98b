import { cpSync, existsSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join, relative, resolve, sep } from "node:path";
import type { Plugin, RolldownOptions } from "rolldown";

/** What became of a plugin's sources; the folder to run is complete when there are no faults, each of them a sentence. */
export interface CompileResult {
  faults: string[];
  /** True when the sources hold a peer: then `peer.js` was made as well. */
  hasPeer: boolean;
}

/** What the files of one part may import beside the door and each other; null for packages: any. */
interface ImportRules {
  node: boolean;
  packages: readonly string[] | null;
}

const PLUGIN_API = "#plugin-api";
/** Files that are no part of what runs. */
const EXCLUDED_FILES =
  /^(node_modules|package(-lock)?\.json|tsconfig\.json|peer\.[tj]s|tests?|index\.js|config\.js|\..+)$|\.ts$/;

/**
 * Makes of a plugin's sources, in TypeScript or JavaScript, a folder that can run: `index.js` and `config.js`, with the
 * `packages` of its manifest inside, and every file that is no source. Nothing of the plugin is run.
 */
export async function compilePlugin(
  sources: string,
  packages: readonly string[],
  target: string,
  peerTarget: string,
): Promise<CompileResult> {
  const [index, config, peer] = ["index", "config", "peer"].map((name) => findEntry(sources, name));
  if (!index || !config) return { faults: [`${index ? "config" : "index"}.ts is missing.`], hasPeer: Boolean(peer) };
  // Alone first: the core reads it in its own thread, so it must hold nothing but fields.
  const faults = await bundle({ config }, sources, { node: false, packages: [] }, null);
  faults.push(...(await bundle({ index, config }, sources, { node: true, packages }, target)));
  if (peer) faults.push(...(await bundle({ peer }, sources, { node: true, packages: null }, peerTarget)));
  const isPart = (path: string): boolean => path === sources || !EXCLUDED_FILES.test(basename(path));
  cpSync(sources, target, { recursive: true, filter: isPart, dereference: true });
  return { faults: [...new Set(faults)], hasPeer: Boolean(peer) };
}

function findEntry(sources: string, name: string): string | undefined {
  return [`${name}.ts`, `${name}.js`].map((file) => join(sources, file)).find((file) => existsSync(file));
}

/** Compiles `input` into `target`, or nowhere when that is null; gives what is wrong, in sentences. */
async function bundle(
  input: Record<string, string>,
  sources: string,
  allowed: ImportRules,
  target: string | null,
): Promise<string[]> {
  const faults: string[] = [];
  const { rolldown } = await import("rolldown");
  const options: RolldownOptions = { input, platform: "node", logLevel: "silent", tsconfig: false };
  try {
    const bundled = await rolldown({ ...options, plugins: [guardImports(sources, allowed, faults)] });
    const names = { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" } as const;
    if (target === null) await bundled.generate({ format: "esm" });
    else await bundled.write({ dir: target, format: "esm", ...names });
    await bundled.close();
  } catch (error) {
    // What was refused could not be resolved either; the reason in words is there already.
    if (faults.length === 0) faults.push(`It can't be compiled: ${firstLines(error)}`);
  }
  return faults;
}

/** Judges what the plugin's own files import; what its packages import is theirs. */
function guardImports(sources: string, { node, packages }: ImportRules, faults: string[]): Plugin {
  const refuse = (importer: string, specifier: string, why: string): null => {
    faults.push(`${relative(sources, importer)} imports ${specifier}: ${why}.`);
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
        return inside ? null : refuse(importer, specifier, "a plugin imports only its own files");
      }
      if (isBuiltin(specifier)) {
        if (!specifier.startsWith("node:")) return refuse(importer, specifier, `write node:${specifier}`);
        return node ? null : refuse(importer, specifier, "config.ts holds nothing but fields");
      }
      const [first = "", second] = specifier.split("/");
      const name = first.startsWith("@") ? `${first}/${second}` : first;
      if (packages?.includes(name) === false) return refuse(importer, specifier, "plugin.json does not name it");
      return null;
    },
  };
}

function firstLines(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n").slice(0, 12).join("\n");
}
