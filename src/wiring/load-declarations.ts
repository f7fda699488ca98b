import { basename, extname } from "node:path";
import { BugError } from "../lib/errors.ts";
import type { AnyResource } from "../schema/resource.ts";

/** Loads modules, by path. */
export type ModuleLoader = () => Promise<Readonly<Record<string, unknown>>>;

export const BUILT_IN_DECLARATIONS: ModuleLoader = async () =>
  (await import("./built-in-declarations.ts")).BUILT_IN_DECLARATION_MODULES;

/**
 * Resource declarations among modules: the default export of each file, which must be named like its resource. Files
 * without default export contain shared parts and are skipped.
 */
export async function loadDeclarations(sources: readonly ModuleLoader[]): Promise<AnyResource[]> {
  const loaded = await Promise.all(sources.map((load) => load()));
  return loaded
    .flatMap((modules) => Object.entries(modules))
    .flatMap(([path, module]) => {
      const resource = (module as { default?: AnyResource }).default;
      if (resource === undefined) return [];
      if (resource.name !== basename(path, extname(path)))
        throw new BugError("A declaration's file must be named like its resource.", { file: path });
      return [resource];
    });
}
