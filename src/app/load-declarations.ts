import { readdirSync } from "node:fs";
import { basename, extname } from "node:path";
import { BugError } from "../base/errors.ts";
import type { AnyResource } from "../schema/resource.ts";

/** The declarations that Carillon brings along. */
export const OWN_DECLARATIONS = new URL("../resources/", import.meta.url);

/**
 * The declarations below `folders` (file URLs): the default export of each file, which is named as its resource. Files
 * without a default export hold shared parts of declarations and are passed over.
 */
export async function loadDeclarations(folders: readonly URL[]): Promise<AnyResource[]> {
  const found: AnyResource[] = [];
  for (const url of folders.flatMap(modulesBelow)) {
    const exported = (await import(url.href)) as { default?: AnyResource };
    if (exported.default === undefined) continue;
    const name = basename(url.pathname, extname(url.pathname));
    if (exported.default.name !== name)
      throw new BugError("A declaration stands in a file of its name.", { file: name });
    found.push(exported.default);
  }
  return found;
}

/** Compiled modules, or their sources where those are run. */
function modulesBelow(folder: URL): URL[] {
  const base = new URL(folder.href.replace(/\/?$/, "/"));
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.isDirectory()) return modulesBelow(new URL(`${entry.name}/`, base));
      return /(?<!\.d)\.(js|ts)$/.test(entry.name) ? [new URL(entry.name, base)] : [];
    });
}
