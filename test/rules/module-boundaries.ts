import { ENTRY, LAYERS, PACKAGE_OWNERS, PLUGIN_API_SPECIFIER, SIMULATOR, SIMULATOR_MAY_IMPORT } from "./modules.ts";
import { moduleOf, resolveFrom, type SourceTree, typescriptOf } from "./source-tree.ts";
import { importsOf } from "./syntax.ts";

/** One broken rule, in words that name file and line. */
export type RuleViolation = string;

/** A file of src/ imports only its own room and rooms of lower rank; campus only base; nobody campus. */
export function layerViolations(tree: SourceTree): RuleViolation[] {
  return eachImport(tree, "src/", (path, specifier) => {
    if (specifier === PLUGIN_API_SPECIFIER) return "inside src/ the door is imported by its relative path";
    if (!specifier.startsWith(".")) return null;
    const target = resolveFrom(path, specifier);
    if (!target.startsWith("src/")) return "product code imports from outside src/";
    const [own, other] = [moduleOf(path), moduleOf(target)];
    if (other === own) return own === null ? "only main.ts stands beside the rooms" : null;
    return layerError(path, own, other);
  });
}

function layerError(path: string, own: string | null, other: string | null): string | null {
  if (other === SIMULATOR) return "nobody imports the campus";
  if (own === SIMULATOR) return other === SIMULATOR_MAY_IMPORT ? null : "the campus imports base only";
  if (own === null && path !== ENTRY) return "only main.ts stands beside the rooms";
  const from = own === null ? Number.POSITIVE_INFINITY : LAYERS[own];
  const to = other === null ? Number.POSITIVE_INFINITY : LAYERS[other];
  if (from === undefined) return `room ${own} has no rank`;
  if (to === undefined) return `room ${other} has no rank`;
  return to < from ? null : `${other ?? "main.ts"} (rank ${to}) is not below ${own} (rank ${from})`;
}

/** Packages that belong to some rooms are imported nowhere else. */
export function packageViolations(tree: SourceTree): RuleViolation[] {
  const check = (path: string, specifier: string): string | null => {
    const name = packageOf(specifier);
    const owner = name
      ? PACKAGE_OWNERS.find(({ packages }) => packages.some((each) => matches(each, name)))
      : undefined;
    return !owner || owner.folders.some((folder) => folder.test(path)) ? null : `${name} is not for this room`;
  };
  return [...eachImport(tree, "src/", check), ...eachImport(tree, "plugins/", check)];
}

/** A plugin imports its own files, the door, Node's modules, and the packages and plugins that its plugin.json names. */
export function pluginBoundaryViolations(tree: SourceTree): RuleViolation[] {
  return eachImport(tree, "plugins/", (path, specifier) => {
    const folder = /^plugins\/[^/]+\//.exec(path)?.[0];
    if (!folder) return "a plugin has a folder of its own";
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

/** Circles of files that import one another, types included: each named by its members. */
export function importCycles(tree: SourceTree): RuleViolation[] {
  const edges = new Map(
    typescriptOf(tree).map(([path, text]) => [
      path,
      importsOf(path, text)
        .filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => resolveFrom(path, specifier)),
    ]),
  );
  return stronglyConnected(edges).map((members) => `circle: ${members.sort().join(" -> ")}`);
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
