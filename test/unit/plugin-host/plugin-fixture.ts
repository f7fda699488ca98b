import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ConfigFields, PluginManifest } from "../../../src/plugin-api/index.ts";

/** A manifest without fault that claims nothing. */
export function manifestOf(name: string, change: Partial<PluginManifest> = {}): PluginManifest {
  return {
    name,
    version: "1.0.0",
    description: "For a test.",
    extensionType: "collaboration",
    claims: [],
    window: 100,
    enabledByDefault: true,
    listens: [],
    watches: [],
    packages: [],
    ...change,
  };
}

/** Writes a plugin that can be found and configured, but has no code. */
export function writePlugin(folder: string, manifest: PluginManifest, fields: ConfigFields = {}): URL {
  const own = join(folder, manifest.name);
  mkdirSync(own, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(own, "plugin.json"), JSON.stringify(manifest));
  writeFileSync(join(own, "config.js"), `export default ${JSON.stringify(fields)};`);
  return pathToFileURL(`${folder}/`);
}
