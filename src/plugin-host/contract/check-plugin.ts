import { mkdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../lib/clock.ts";
import type { ConfigFields, OpenMutePeer, PluginManifest } from "../../plugin-api/index.ts";
import type { Secrets } from "../../store/store.ts";
import { findClaimConflict } from "../claims.ts";
import { compilePlugin } from "../compile-plugin.ts";
import { type InstalledPlugin, loadPluginFields, type PluginFields } from "../installed-plugins.ts";
import { readManifest } from "../manifest.ts";
import { linkPluginApi } from "../plugin-api-link.ts";
import { configFaultText, createPluginConfig } from "../plugin-config.ts";
import { startContractRun } from "./contract-run.ts";
import { checkAgainstMutePeer } from "./mute-peer-check.ts";

/** One step of a check: what was looked at, and what is wrong, in sentences. */
export interface PluginCheckStep {
  step: string;
  faults: string[];
}

/** A plugin that was checked; `steps` ends with the first step that found faults. */
export interface PluginCheckResult {
  steps: PluginCheckStep[];
  /** Null when plugin.json has faults. */
  manifest: PluginManifest | null;
  /** Folder of what would be installed; null when the check found faults. */
  built: string | null;
}

/** What a check is made with. */
export interface PluginCheckDeps {
  /** Folder of the sources; its name is the plugin's. */
  sources: string;
  /** An empty folder to build and run it in. */
  workDir: string;
  /** The plugins that it must get along with. */
  others: readonly PluginManifest[];
  clock: Clock;
}

const SECRET = /password|secret|token/i;
const plainSecrets: Secrets = { seal: (plain) => plain, open: (sealed) => sealed };

/**
 * Holds a plugin against the contract that all plugins keep: manifest, claims, imports, configuration, start and stop,
 * and proof opposite a mute peer. Runs its code in a thread of its own, its configuration and peer in this one.
 */
export async function checkPlugin({ sources, workDir, others, clock }: PluginCheckDeps): Promise<PluginCheckResult> {
  const folder = resolve(sources);
  const name = basename(folder);
  const steps: PluginCheckStep[] = [];
  const { manifest = null, faults = [] } = readManifest(readText(join(folder, "plugin.json")), name);
  const passes = (step: string, found: string[]): boolean => steps.push({ step, faults: found }) > 0 && !found.length;
  const failed = (): PluginCheckResult => ({ steps, manifest, built: null });

  if (!passes("plugin.json", faults) || !manifest) return failed();
  if (!passes("claims", claimFaults(manifest, others))) return failed();
  const built = join(workDir, "plugins", name);
  const peerDir = join(workDir, "plugins", "peer");
  mkdirSync(built, { recursive: true });
  linkPluginApi(pathToFileURL(`${join(workDir, "plugins")}/`));
  const { faults: compileFaults, hasPeer } = await compilePlugin(folder, manifest.packages, built, peerDir);
  if (!passes("sources", compileFaults)) return failed();
  const at = pathToFileURL(`${built}/`);
  const plugin = { manifest, entry: new URL("index.js", at), configEntry: new URL("config.js", at) };
  const read = await readFields(plugin);
  if (!passes("configuration", typeof read === "string" ? [read] : configFaults(read))) return failed();
  if (typeof read === "string") return failed();
  const { config: fields, profile } = read;
  if (!passes("README.md", readmeFaults(folder, { ...profile, ...fields }, manifest))) return failed();
  if (!passes("start and stop", await runFaults(plugin, fields, clock))) return failed();
  const peer = hasPeer ? ((await import(pathToFileURL(join(peerDir, "peer.js")).href)) as PeerModule).default : null;
  const proof = await checkAgainstMutePeer({ plugin, peer, clock, toRun: (given) => runConfig(fields, given) });
  return passes("proof opposite a mute peer", proof) ? { steps, manifest, built } : failed();
}

interface PeerModule {
  default: OpenMutePeer;
}

function claimFaults(manifest: PluginManifest, others: readonly PluginManifest[]): string[] {
  const strangers = others.filter(({ name }) => name !== manifest.name);
  const conflict = findClaimConflict(manifest, strangers);
  return conflict ? [`${conflict.holder} already claims ${conflict.type} ${conflict.identifier}.`] : [];
}

async function readFields(plugin: InstalledPlugin): Promise<PluginFields | string> {
  try {
    const fields = await loadPluginFields(plugin);
    return fields.config ? fields : "config.ts has no default export.";
  } catch (error) {
    return `config.ts can't be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function configFaults({ config: fields, profile }: PluginFields): string[] {
  const faults = [...Object.entries(fields), ...Object.entries(profile ?? {})].flatMap(([name, field]) => {
    if (!/\S/.test(field?.doc ?? "")) return [`${name} has no words that explain it.`];
    return SECRET.test(name) && field.kind !== "secret" ? [`${name} must be a secret field.`] : [];
  });
  for (const [name, { kind }] of Object.entries(profile ?? {}))
    if (kind === "secret") faults.push(`${name} can't be a secret in a profile, which everybody reads.`);
  if (faults.length > 0) return faults;
  try {
    runConfig(fields, {});
    return [];
  } catch (error) {
    return [`It must be right when nothing is set: ${configFaultText(error)}`];
  }
}

function runConfig(fields: ConfigFields, given: Record<string, unknown>): Record<string, unknown> {
  return createPluginConfig(fields, plainSecrets).toRuntime(given).config;
}

function readmeFaults(folder: string, fields: ConfigFields, { listens }: PluginManifest): string[] {
  const text = readText(join(folder, "README.md"));
  if (text === "") return ["README.md is missing."];
  return [...Object.keys(fields), ...listens].flatMap((word) =>
    text.includes(word) ? [] : [`It must explain ${word}.`],
  );
}

async function runFaults(plugin: InstalledPlugin, fields: ConfigFields, clock: Clock): Promise<string[]> {
  const { manifest, entry } = plugin;
  const started = await startContractRun({ manifest, entry, config: runConfig(fields, {}), clock });
  if ("fault" in started) return [`It does not start: ${started.fault}.`];
  const open = Object.keys(started.run.urls()).map((name) => name.slice(manifest.name.length + 1));
  const missing = manifest.listens.filter((name) => !open.includes(name));
  const faults = missing.map((name) => `It did not open the port ${name}.`);
  const end = await started.run.stop();
  return end === null ? faults : [...faults, `It does not stop: ${end}.`];
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
