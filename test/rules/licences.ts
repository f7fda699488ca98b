import type { SourceTree } from "./source-tree.ts";
import { importsOf } from "./syntax.ts";

/** An entry of the lock file: of a package, by its folder. */
interface LockedPackage {
  version?: string;
  license?: string;
  dev?: boolean;
  devOptional?: boolean;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export type LockFile = Readonly<{ packages: Readonly<Record<string, LockedPackage>> }>;

/** A package that comes with the product. */
export interface DistributedPackage {
  name: string;
  version: string;
  licence: string;
  /** In the server's node_modules, or part of the console's files. */
  part: "server" | "console";
}

/**
 * Licences under which packages may come with the product, unmodified and with their texts. MPL-2.0 binds the files of
 * the package alone. @source docs/decisions/0492-licences-of-packages.md
 */
const ALLOWED: ReadonlySet<string> = new Set([
  ...["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC0-1.0", "ISC", "MIT", "MIT-0"],
  ...["MPL-2.0", "Python-2.0", "Unlicense", "Zlib"],
]);

/** True if the SPDX expression gives a way to comply with allowed licences only. @source SPDX 2.3, Annex D */
export function isAllowedLicence(expression: string): boolean {
  const tokens = expression.match(/\(|\)|[^\s()]+/g) ?? [];
  let at = 0;
  const alternatives = (): boolean => {
    let isAllowed = requirements();
    while (tokens[at] === "OR") {
      at++;
      isAllowed = requirements() || isAllowed;
    }
    return isAllowed;
  };
  const requirements = (): boolean => {
    let isAllowed = term();
    while (tokens[at] === "AND") {
      at++;
      isAllowed = term() && isAllowed;
    }
    return isAllowed;
  };
  const term = (): boolean => {
    const token = tokens[at++];
    if (token !== "(") return token !== undefined && ALLOWED.has(token);
    const isAllowed = alternatives();
    return tokens[at++] === ")" && isAllowed;
  };
  const isAllowed = alternatives();
  return at === tokens.length && isAllowed;
}

/** Packages that come with the product: those that the server needs, and those whose code is in the console's files. */
export function distributedPackages({ packages }: LockFile, consoleFiles: SourceTree): DistributedPackage[] {
  const server = Object.keys(packages).filter((at) => {
    const { dev = false, devOptional = false } = packages[at] ?? {};
    return at !== "" && !dev && !devOptional;
  });
  const bundled = new Set<string>();
  const bundle = (at: string): void => {
    if (bundled.has(at)) return;
    bundled.add(at);
    const { dependencies, peerDependencies } = packages[at] ?? {};
    for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
      const found = resolvePackage(packages, at, name);
      if (found !== null) bundle(found);
    }
  };
  for (const name of importedPackages(consoleFiles)) {
    const found = resolvePackage(packages, "", name);
    if (found !== null) bundle(found);
  }
  const all = new Map<string, DistributedPackage>();
  for (const [part, paths] of [
    ["server", server],
    ["console", bundled],
  ] as const) {
    for (const at of paths) {
      const name = at.slice(at.lastIndexOf("node_modules/") + "node_modules/".length);
      const { version = "", license = "none" } = packages[at] ?? {};
      const key = `${name} ${version}`;
      if (!all.has(key)) all.set(key, { name, version, licence: license, part });
    }
  }
  return [...all.values()].sort((one, other) =>
    `${one.name} ${one.version}` < `${other.name} ${other.version}` ? -1 : 1,
  );
}

/** Folder of the package `name` as code in `from` finds it; null if it is not installed, as optional ones may be. */
function resolvePackage(packages: LockFile["packages"], from: string, name: string): string | null {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const path = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (at === "") return null;
  }
}

function importedPackages(files: SourceTree): Set<string> {
  const names = [...files].flatMap(([path, text]) => importsOf(path, text).map(({ specifier }) => specifier));
  const packages = names.filter((name) => /^[@\w]/.test(name) && !name.startsWith("node:"));
  return new Set(packages.map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name));
}

/** The table of packages. */
export function licenceTable(packages: readonly DistributedPackage[]): string {
  const rows = packages.map(({ name, version, licence, part }) => `| ${name} | ${version} | ${licence} | ${part} |`);
  return ["| Package | Version | Licence | Part |", "|---|---|---|---|", ...rows].join("\n");
}
