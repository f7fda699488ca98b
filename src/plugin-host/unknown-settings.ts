import type { PluginManifest } from "../plugin-api/index.ts";
import type { Settings } from "../settings/schema.ts";

/** Says in words what the settings give to plugins and ports that there are not: most likely misspelt, and of no effect. */
export function unknownPluginSettings(
  { plugins }: Pick<Settings, "plugins">,
  manifests: readonly Pick<PluginManifest, "name" | "listens">[],
): string[] {
  return Object.entries(plugins).flatMap(([name, { listen }]) => {
    const manifest = manifests.find((each) => each.name === name);
    if (!manifest)
      return [`plugins.${name}: no such plugin; there are ${manifests.map((each) => each.name).join(", ")}`];
    const strays = Object.keys(listen).filter((port) => !manifest.listens.includes(port));
    return strays.map((port) => `plugins.${name}.listen.${port}: no such port; ${listPorts(manifest.listens)}`);
  });
}

function listPorts(names: readonly string[]): string {
  return names.length === 0 ? "it has none" : `there are ${names.join(", ")}`;
}
