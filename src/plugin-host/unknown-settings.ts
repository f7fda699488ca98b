import type { PluginManifest } from "../plugin-api/index.ts";
import type { Settings } from "../settings/schema.ts";

/** Describes settings of unknown plugins and ports, which are most likely misspelt. */
export function unknownPluginSettings(
  { plugins }: Pick<Settings, "plugins">,
  manifests: readonly Pick<PluginManifest, "name" | "listens">[],
): string[] {
  return Object.entries(plugins).flatMap(([name, { listen }]) => {
    const manifest = manifests.find((each) => each.name === name);
    if (!manifest)
      return [`plugins.${name}: unknown plugin; available: ${manifests.map((each) => each.name).join(", ")}`];
    const strays = Object.keys(listen).filter((port) => !manifest.listens.includes(port));
    return strays.map(
      (port) => `plugins.${name}.listen.${port}: unknown port; available: ${listPorts(manifest.listens)}`,
    );
  });
}

function listPorts(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}
