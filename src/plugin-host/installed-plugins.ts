import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { PluginSentences } from "../lib/sentences/registry.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import type { ConfigFields, PluginManifest } from "../plugin-api/index.ts";
import { findClaimConflict } from "./claims.ts";
import { readManifest } from "./manifest.ts";
import { readPluginSentences } from "./plugin-sentences.ts";
import { ANY_PLUGIN, type PluginTrust, verifyPlugin } from "./plugin-signature.ts";

/** A usable plugin in a plugin folder. */
export interface InstalledPlugin {
  manifest: PluginManifest;
  /** It was installed, and does not come with the product: it runs in a process without rights. */
  isForeign: boolean;
  /** Publisher whose signature was verified; null for an unsigned plugin and for those of the product. */
  signedBy: string | null;
  /** URL of index.js. */
  entry: URL;
  /** URL of config.js. */
  configEntry: URL;
  /** Null if it writes plain text only. */
  sentences: PluginSentences | null;
  /** Why its sentences cannot be translated. */
  sentenceErrors: string[];
}

/** A plugin that was refused, with reasons as sentences. */
export interface RejectedPlugin {
  name: string;
  reasons: string[];
}

/** Folder of the built-in plugins. */
export function builtInPluginFolder(): URL {
  return new URL("../../plugins/", workerEntry(import.meta.url, "./plugin-worker"));
}

/** Folder of the plugins installed on an appliance, with a trailing slash; it may be missing. */
export function installedPluginFolder(dataDir: string): URL {
  return pathToFileURL(`${join(dataDir, "plugins")}/`);
}

/**
 * Finds the built-in plugins in `folder`, then those installed in `ownFolder`, sorted by name. Runs no plugin code. A
 * missing folder contains no plugins. Installed plugins start disabled, whatever their manifest says.
 */
export function findPlugins(
  folder: URL,
  ownFolder: URL | null = null,
  trust: PluginTrust = ANY_PLUGIN,
): { installed: InstalledPlugin[]; refused: RejectedPlugin[] } {
  const installed: InstalledPlugin[] = [];
  const refused: RejectedPlugin[] = [];
  const found = [folder, ...(ownFolder ? [ownFolder] : [])].flatMap((each) =>
    subfolderNames(each).map((name) => ({ name, own: new URL(`${name}/`, each), foreign: each === ownFolder })),
  );
  for (const { name, own, foreign } of found) {
    const { manifest: read, errors } = readManifest(readText(new URL("plugin.json", own)), name);
    if (!read || installed.some((plugin) => plugin.manifest.name === name)) {
      refused.push({ name, reasons: errors ?? [sentence("error.a-built-in-plugin-of-this-name-already-exists")] });
      continue;
    }
    const signature = foreign ? readSignature(own, read, trust) : { signedBy: null };
    if ("refusal" in signature) {
      refused.push({ name, reasons: [signature.refusal] });
      continue;
    }
    const manifest = foreign ? { ...read, enabledByDefault: false } : read;
    const conflict = findClaimConflict(
      manifest,
      installed.map((plugin) => plugin.manifest),
    );
    if (conflict) {
      refused.push({
        name,
        reasons: [
          sentence("error.holder-already-claims-type-identifier", {
            holder: conflict.holder,
            type: conflict.type,
            identifier: conflict.identifier,
          }),
        ],
      });
      continue;
    }
    const { sentences, errors: sentenceErrors } = readPluginSentences(own);
    const files = { entry: new URL("index.js", own), configEntry: new URL("config.js", own) };
    installed.push({ manifest, isForeign: foreign, ...signature, ...files, sentences, sentenceErrors });
  }
  return { installed, refused };
}

/** Exports of a plugin's config.js: its configuration fields and its profile fields. */
export interface PluginFields {
  config: ConfigFields;
  /** Null without profile fields. */
  profile: ConfigFields | null;
}

/** The only folder that an installed plugin writes; the plugins' folder is beside it. */
export function pluginDataFolder({ entry, manifest }: Pick<InstalledPlugin, "entry" | "manifest">): string {
  return fileURLToPath(new URL(`../../plugin-data/${manifest.name}`, entry));
}

/** Loads the fields of a plugin that comes with the product by importing config.js, which contains nothing else. */
export async function loadPluginFields({ configEntry }: InstalledPlugin): Promise<PluginFields> {
  // A newer version has the same path and must not come from the module cache.
  const { mtimeMs } = statSync(configEntry);
  const { default: config, profile = null } = (await import(`${configEntry.href}?${mtimeMs}`)) as {
    default: ConfigFields;
    profile?: ConfigFields;
  };
  return { config, profile };
}

function readSignature(
  folder: URL,
  manifest: PluginManifest,
  trust: PluginTrust,
): { signedBy: string | null } | { refusal: string } {
  try {
    return { signedBy: verifyPlugin(fileURLToPath(folder), manifest, trust) };
  } catch (error) {
    return { refusal: error instanceof Error ? error.message : String(error) };
  }
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
