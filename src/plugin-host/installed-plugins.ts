import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { workerEntry } from "../lib/worker-entry.ts";
import type { ConfigFields, PluginManifest } from "../plugin-api/index.ts";
import { findClaimConflict } from "./claims.ts";
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
export interface RejectedPlugin {
  name: string;
  reasons: string[];
}

/** The folder of the plugins that come with Carillon, as they were built. */
export function builtInPluginFolder(): URL {
  return new URL("../../plugins/", workerEntry(import.meta.url, "./plugin-worker"));
}

/** Folder of the plugins that were installed into an appliance, with a slash at its end; it may be missing. */
export function installedPluginFolder(dataDir: string): URL {
  return pathToFileURL(`${join(dataDir, "plugins")}/`);
}

/**
 * Finds the plugins that come with Carillon in `folder`, then those installed in `ownFolder`, in order of their names. No
 * code of theirs is run. A missing folder holds none. own choice: what was installed starts switched off, whatever it says.
 */
export function findPlugins(
  folder: URL,
  ownFolder: URL | null = null,
): { installed: InstalledPlugin[]; refused: RejectedPlugin[] } {
  const installed: InstalledPlugin[] = [];
  const refused: RejectedPlugin[] = [];
  const found = [folder, ...(ownFolder ? [ownFolder] : [])].flatMap((each) =>
    subfolderNames(each).map((name) => ({ name, own: new URL(`${name}/`, each), foreign: each === ownFolder })),
  );
  for (const { name, own, foreign } of found) {
    const { manifest: read, faults } = readManifest(readText(new URL("plugin.json", own)), name);
    if (!read || installed.some((plugin) => plugin.manifest.name === name)) {
      refused.push({ name, reasons: faults ?? ["Carillon brings a plugin of this name."] });
      continue;
    }
    const manifest = foreign ? { ...read, enabledByDefault: false } : read;
    const conflict = findClaimConflict(
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

/** What a plugin's config.js exports: the fields of its configuration, and of what profiles may say of it. */
export interface PluginFields {
  config: ConfigFields;
  /** Null when it does not say. */
  profile: ConfigFields | null;
}

/** Reads a plugin's fields; runs its config.js, which holds nothing but them. */
export async function loadPluginFields({ configEntry }: InstalledPlugin): Promise<PluginFields> {
  // A newer version lies at the same place and must not be taken for the one that was read before.
  const { mtimeMs } = statSync(configEntry);
  const { default: config, profile = null } = (await import(`${configEntry.href}?${mtimeMs}`)) as {
    default: ConfigFields;
    profile?: ConfigFields;
  };
  return { config, profile };
}

function subfolderNames(folder: URL): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
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
