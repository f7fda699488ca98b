import { readdirSync, readFileSync } from "node:fs";
import { workerEntry } from "../base/worker-entry.ts";
import type { ConfigFields, PluginManifest } from "../plugin-api/index.ts";
import { findConflict } from "./claims.ts";
import { readManifest } from "./manifest.ts";

/** A plugin that lies in the plugin folder and was not refused. */
export interface InstalledPlugin {
  manifest: PluginManifest;
  /** Its index.js. */
  entry: URL;
  /** Its config.js. */
  configEntry: URL;
}

/** A plugin that can't be used, and why, in words. */
export interface RefusedPlugin {
  name: string;
  reasons: string[];
}

/** The folder of the plugins that come with Carillon, as they were built. */
export function builtPluginFolder(): URL {
  return new URL("../../plugins/", workerEntry(import.meta.url, "./plugin-worker"));
}

/** Finds the plugins below `folder`, in order of their names. No code of theirs is run. A missing folder holds none. */
export function findPlugins(folder: URL): { installed: InstalledPlugin[]; refused: RefusedPlugin[] } {
  const installed: InstalledPlugin[] = [];
  const refused: RefusedPlugin[] = [];
  for (const name of namesBelow(folder)) {
    const own = new URL(`${name}/`, folder);
    const { manifest, faults } = readManifest(readText(new URL("plugin.json", own)), name);
    if (!manifest) {
      refused.push({ name, reasons: faults });
      continue;
    }
    const conflict = findConflict(
      manifest,
      installed.map((plugin) => plugin.manifest),
    );
    if (conflict) {
      refused.push({ name, reasons: [`${conflict.holder} already claims ${conflict.type} ${conflict.identifier}.`] });
      continue;
    }
    installed.push({ manifest, entry: new URL("index.js", own), configEntry: new URL("config.js", own) });
  }
  return { installed, refused };
}

/** Reads the fields of a plugin's configuration; runs its config.js, which holds nothing but them. */
export async function loadConfigFields(plugin: InstalledPlugin): Promise<ConfigFields> {
  const { default: fields } = (await import(plugin.configEntry.href)) as { default: ConfigFields };
  return fields;
}

function namesBelow(folder: URL): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
      .sort();
  } catch {
    return [];
  }
}

function readText(file: URL): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
