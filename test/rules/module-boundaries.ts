import {
  ENTRY,
  LAYERS,
  PACKAGE_OWNERS,
  PLUGIN_API_SPECIFIER,
  PUBLIC_ENTRIES,
  SIMULATOR,
  SIMULATOR_MAY_IMPORT,
} from "./modules.ts";
import { moduleOf, resolveFrom, type SourceTree, typescriptOf } from "./source-tree.ts";
import { importsOf } from "./syntax.ts";

/** One broken rule: file, line and what is wrong. */
export type RuleViolation = string;

/** A file of src/ imports only its own module and modules of lower layers; the simulator imports lib only. */
export function layerViolations(tree: SourceTree): RuleViolation[] {
  return eachImport(tree, "src/", (path, specifier) => {
    if (specifier === PLUGIN_API_SPECIFIER) return "inside src/ the plugin API is imported by its relative path";
    if (!specifier.startsWith(".")) return null;
    const target = resolveFrom(path, specifier);
    if (!target.startsWith("src/")) return "product code must not import from outside src/";
    const isOurs = path.startsWith(SIMULATOR);
    if (target.startsWith(SIMULATOR)) return isOurs ? null : "nothing may import the simulator";
    if (isOurs) return target.startsWith(SIMULATOR_MAY_IMPORT) ? null : "the simulator may import lib only";
    const [own, other] = [moduleOf(path), moduleOf(target)];
    if (other === own) return own === null ? "only main.ts may lie outside the modules" : null;
    return layerError(path, own, other);
  });
}

function layerError(path: string, own: string | null, other: string | null): string | null {
  if (own === null && path !== ENTRY) return "only main.ts may lie outside the modules";
  const from = own === null ? Number.POSITIVE_INFINITY : LAYERS[own];
  const to = other === null ? Number.POSITIVE_INFINITY : LAYERS[other];
  if (from === undefined) return `module ${own} has no layer`;
  if (to === undefined) return `module ${other} has no layer`;
  return to < from ? null : `${other ?? "main.ts"} (layer ${to}) is not below ${own} (layer ${from})`;
}

/** The modules that each module imports, by name; of the product without its browser apps. */
export function moduleImports(tree: SourceTree): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>(Object.keys(LAYERS).map((name) => [name, new Set()]));
  eachImport(tree, "src/", (path, specifier) => {
    if (!specifier.startsWith(".") || path.startsWith("src/console/web/")) return null;
    const [own, other] = [moduleOf(path), moduleOf(resolveFrom(path, specifier))];
    if (own && other && own !== other) found.get(own)?.add(other);
    return null;
  });
  return found;
}

/** Packages that belong to some modules are imported nowhere else. */
export function packageViolations(tree: SourceTree): RuleViolation[] {
  const check = (path: string, specifier: string): string | null => {
    const name = packageOf(specifier);
    const owner = name
      ? PACKAGE_OWNERS.find(({ packages }) => packages.some((each) => matches(each, name)))
      : undefined;
    return !owner || owner.folders.some((folder) => folder.test(path))
      ? null
      : `${name} does not belong into this module`;
  };
  return [...eachImport(tree, "src/", check), ...eachImport(tree, "plugins/", check)];
}

/** Packages are imported by their documented entry points only: what lies behind may change with every release. */
export function internalImports(tree: SourceTree): RuleViolation[] {
  const check = (_path: string, specifier: string): string | null => {
    const name = packageOf(specifier);
    const entries = name ? PUBLIC_ENTRIES[name] : undefined;
    return entries && !entries.includes(specifier) ? `${name} is imported by ${entries.join(" or ")} only` : null;
  };
  return [...eachImport(tree, "src/", check), ...eachImport(tree, "plugins/", check)];
}

/** A plugin imports its own files, the plugin API, Node's modules, and the packages and plugins that its plugin.json names. */
export function pluginBoundaryViolations(tree: SourceTree): RuleViolation[] {
  return eachImport(tree, "plugins/", (path, specifier) => {
    const folder = /^plugins\/[^/]+\//.exec(path)?.[0];
    if (!folder) return "a plugin must lie in its own folder";
    if (specifier === PLUGIN_API_SPECIFIER || specifier.startsWith("node:")) return null;
    const manifest: { packages?: string[]; builtOn?: string[] } = JSON.parse(tree.get(`${folder}plugin.json`) ?? "{}");
    if (specifier.startsWith(".")) {
      const open = [folder, ...(manifest.builtOn ?? []).map((name) => `plugins/${name}/`)];
      const target = resolveFrom(path, specifier);
      return open.some((each) => target.startsWith(each)) ? null : "a plugin imports only its own files";
    }
    return manifest.packages?.includes(packageOf(specifier) ?? "") ? null : "plugin.json does not name this package";
  });
}

/** Import cycles between files, type imports included: each named by its members. */
export function importCycles(tree: SourceTree): RuleViolation[] {
  const edges = new Map(
    typescriptOf(tree).map(([path, text]) => [
      path,
      importsOf(path, text)
        .filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => resolveFrom(path, specifier)),
    ]),
  );
  return stronglyConnected(edges).map((members) => `cycle: ${members.sort().join(" -> ")}`);
}

/** Tarjan's components of more than one file, or of one that imports itself. */
function stronglyConnected(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const stack: string[] = [];
  const open = new Set<string>();
  const components: string[][] = [];
  const enter = (node: string): number => {
    const own = index.size;
    let lowest = own;
    index.set(node, own);
    stack.push(node);
    open.add(node);
    for (const next of edges.get(node) ?? []) {
      if (!edges.has(next)) continue;
      const reached = index.get(next);
      if (reached === undefined) lowest = Math.min(lowest, enter(next));
      else if (open.has(next)) lowest = Math.min(lowest, reached);
    }
    if (lowest === own) {
      const members = stack.splice(stack.indexOf(node));
      for (const member of members) open.delete(member);
      if (members.length > 1 || edges.get(node)?.includes(node)) components.push(members);
    }
    return lowest;
  };
  for (const node of edges.keys()) if (!index.has(node)) enter(node);
  return components;
}

function eachImport(
  tree: SourceTree,
  folder: string,
  check: (path: string, specifier: string) => string | null,
): RuleViolation[] {
  return typescriptOf(tree)
    .filter(([path]) => path.startsWith(folder))
    .flatMap(([path, text]) =>
      importsOf(path, text).flatMap(({ specifier, line }) => {
        const fault = check(path, specifier);
        return fault ? [`${path}:${line} imports ${specifier}: ${fault}`] : [];
      }),
    );
}

/** The package of a bare specifier (`@koa/router/x` -> `@koa/router`), null for relative, `#` and node: ones. */
function packageOf(specifier: string): string | null {
  if (/^(\.|#|node:)/.test(specifier)) return null;
  const [first = "", second] = specifier.split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
