import { basename } from "node:path";
import type { AnyResource } from "../../src/schema/resource.ts";
import type { RuleViolation } from "./module-boundaries.ts";
import { REPLICATION_CLASSES } from "./modules.ts";

/** What the files below src/resources export, by path. */
export type DeclarationModules = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** The declarations among the exports, each with the file it stands in. */
export function declarationsOf(modules: DeclarationModules): { path: string; resource: AnyResource }[] {
  return [...modules].flatMap(([path, exported]) =>
    Object.values(exported)
      .filter(isDeclaration)
      .map((resource) => ({ path, resource })),
  );
}

/** A declaration is the default export of a file of its own name, and says how its rows are replicated. */
export function declarationViolations(modules: DeclarationModules): RuleViolation[] {
  return declarationsOf(modules).flatMap(({ path, resource }) => {
    const faults: RuleViolation[] = [];
    if (modules.get(path)?.default !== resource) faults.push(`${path}: ${resource.name} is not the default export`);
    if (basename(path, ".ts") !== resource.name)
      faults.push(`${path}: declares ${resource.name}, not what it is called`);
    if (!REPLICATION_CLASSES.includes(resource.replicate)) faults.push(`${path}: has no replication class`);
    return faults;
  });
}

function isDeclaration(value: unknown): value is AnyResource {
  return typeof value === "object" && value !== null && "name" in value && "fields" in value && "paths" in value;
}
