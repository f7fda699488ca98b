import { basename, extname } from "node:path";
import { BugError } from "../lib/errors.ts";
import type { AnyResource } from "../schema/resource.ts";

/** Modules by their paths, loaded when they are asked for. */
export type ModuleLoader = () => Promise<Readonly<Record<string, unknown>>>;

/** The declarations that Carillon brings along. */
export const BUILT_IN_DECLARATIONS: ModuleLoader = async () =>
  (await import("./built-in-declarations.ts")).BUILT_IN_DECLARATION_MODULES;

/**
 * The declarations among modules: the default export of each file, which is named as its resource. Files without a
 * default export hold shared parts of declarations and are passed over.
 */
export async function loadDeclarations(sources: readonly ModuleLoader[]): Promise<AnyResource[]> {
  const loaded = await Promise.all(sources.map((load) => load()));
  return loaded
    .flatMap((modules) => Object.entries(modules))
    .flatMap(([path, module]) => {
      const resource = (module as { default?: AnyResource }).default;
      if (resource === undefined) return [];
      if (resource.name !== basename(path, extname(path)))
        throw new BugError("A declaration stands in a file of its name.", { file: path });
      return [resource];
    });
}
