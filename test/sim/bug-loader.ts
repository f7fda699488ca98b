import { mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { viteImportGlobPlugin } from "rolldown/experimental";
import type { PlantedBug } from "./planted-bugs.ts";
import type { runOnMemory } from "./simulation.ts";

/** Loads the simulation with one planted bug. Throws if a text of the bug does not occur exactly once. */
export async function loadSimulationWithBug(bug: PlantedBug, root: string): Promise<typeof runOnMemory> {
  return (await loadModuleWithBug<{ runOnMemory: typeof runOnMemory }>(bug, root, "test/sim/simulation.ts"))
    .runOnMemory;
}

/** As `loadSimulationWithBug`, for any module that imports the product. */
export async function loadModuleWithBug<M>(bug: PlantedBug, root: string, entry: string): Promise<M> {
  const { module, remove } = await buildWithBug(bug, root, entry);
  try {
    return await import(module);
  } finally {
    remove();
  }
}

/** Bundles a module with a planted bug; the URL can be imported until it is removed. */
export async function buildWithBug(
  bug: PlantedBug,
  root: string,
  entry: string,
): Promise<{ module: string; remove(): void }> {
  const targets = [bug, ...(bug.also ?? [])];
  let planted = 0;
  const handler = (code: string, id: string): string | null => {
    const target = targets.find(({ file }) => id === resolve(root, file));
    if (!target) return null;
    let text = code;
    for (const [found, by] of target.changes) {
      if (text.split(found).length !== 2)
        throw new Error(`${bug.name}: "${found}" must occur exactly once in ${target.file}`);
      text = text.replace(found, () => by);
    }
    planted += 1;
    return text;
  };
  const built = await rolldown({
    input: resolve(root, entry),
    platform: "node",
    external: [/^[^./]/],
    plugins: [viteImportGlobPlugin(), { name: "plant", transform: { handler, order: "pre" } }],
    logLevel: "silent",
  });
  const folder = mkdtempSync(join(root, "node_modules/.sim-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    // The folder is removed once the module is loaded, so it has no parts that are loaded later.
    await built.write({ dir: folder, format: "esm", entryFileNames: "world.mjs", codeSplitting: false });
    await built.close();
    if (planted !== targets.length) throw new Error(`${bug.name}: a file is not imported by ${entry}`);
  } catch (error) {
    remove();
    throw error;
  }
  return { module: pathToFileURL(join(folder, "world.mjs")).href, remove };
}
