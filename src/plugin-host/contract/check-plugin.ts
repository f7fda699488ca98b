import { mkdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../lib/clock.ts";
import type { ConfigFields, OpenMutePeer, PluginManifest } from "../../plugin-api/index.ts";
import type { Secrets } from "../../store/store.ts";
import { findClaimConflict } from "../claims.ts";
import { compilePlugin } from "../compile-plugin.ts";
import { type InstalledPlugin, type PluginFields, pluginDataFolder } from "../installed-plugins.ts";
import { readFieldsInProcess } from "../launch-in-process.ts";
import { readManifest } from "../manifest.ts";
import { linkPluginApi } from "../plugin-api-link.ts";
import { configErrorText, createPluginConfig } from "../plugin-config.ts";
import { readPluginSentences, sentenceErrors } from "../plugin-sentences.ts";
import { startContractRun } from "./contract-run.ts";
import { checkAgainstMutePeer } from "./mute-peer-check.ts";

/** One step of a check and its errors, as sentences. */
export interface PluginCheckStep {
  step: string;
  errors: string[];
}

/** Result of a check; `steps` ends with the first failed step. */
export interface PluginCheckResult {
  steps: PluginCheckStep[];
  /** Null if plugin.json is invalid. */
  manifest: PluginManifest | null;
  /** Build folder, ready to install; null if the check failed. */
  built: string | null;
}

export interface PluginCheckDeps {
  /** Source folder; its name is the plugin's name. */
  sources: string;
  /** An empty folder for building and running the plugin. */
  workDir: string;
  /** Installed plugins, to check claims against. */
  others: readonly PluginManifest[];
  clock: Clock;
  /** Also runs its test peer, which has the rights of the caller. */
  runsPeer: boolean;
}

const CONFIG_MEMORY_MB = 64;
const SECRET = /password|secret|token/i;
const plainSecrets: Secrets = { seal: (plain) => plain, open: (sealed) => sealed };

/**
 * Checks a plugin against the contract of all plugins: manifest, claims, sources, configuration, README, start and
 * stop, and proof against a mute peer. Runs the plugin and its config.js in a process without rights, its peer in this one.
 */
export async function checkPlugin(deps: PluginCheckDeps): Promise<PluginCheckResult> {
  const { sources, workDir, others, clock, runsPeer } = deps;
  const folder = resolve(sources);
  const name = basename(folder);
  const steps: PluginCheckStep[] = [];
  const { manifest = null, errors = [] } = readManifest(readText(join(folder, "plugin.json")), name);
  const passes = (step: string, found: string[]): boolean => steps.push({ step, errors: found }) > 0 && !found.length;
  const failed = (): PluginCheckResult => ({ steps, manifest, built: null });

  if (!passes("plugin.json", errors) || !manifest) return failed();
  if (!passes("claims", claimErrors(manifest, others))) return failed();
  const built = join(workDir, "plugins", name);
  const peerDir = join(workDir, "plugins", "peer");
  mkdirSync(built, { recursive: true });
  linkPluginApi(pathToFileURL(`${join(workDir, "plugins")}/`));
  const { errors: compileErrors, hasPeer } = await compilePlugin(folder, manifest.packages, built, peerDir);
  if (!passes("sources", compileErrors)) return failed();
  const { sentences, errors: fileErrors } = readPluginSentences(pathToFileURL(`${built}/`));
  if (!passes("sentences", sentences ? sentenceErrors(sentences) : fileErrors)) return failed();
  const at = pathToFileURL(`${built}/`);
  const files = { entry: new URL("index.js", at), configEntry: new URL("config.js", at) };
  const plugin: InstalledPlugin = {
    manifest,
    isForeign: true,
    signedBy: null,
    ...files,
    sentences,
    sentenceErrors: [],
  };
  const read = await readFields(plugin, clock);
  if (!passes("configuration", typeof read === "string" ? [read] : configErrors(read))) return failed();
  if (typeof read === "string") return failed();
  const { config: fields, profile } = read;
  if (!passes("README.md", readmeErrors(folder, { ...profile, ...fields }, manifest))) return failed();
  if (!passes("start and stop", await runErrors(plugin, fields, clock))) return failed();
  if (!runsPeer) return { steps, manifest, built };
  const peer = hasPeer ? ((await import(pathToFileURL(join(peerDir, "peer.js")).href)) as PeerModule).default : null;
  const proof = await checkAgainstMutePeer({ plugin, peer, clock, toRun: (given) => runConfig(fields, given) });
  return passes("proof against a mute peer", proof) ? { steps, manifest, built } : failed();
}

interface PeerModule {
  default: OpenMutePeer;
}

function claimErrors(manifest: PluginManifest, others: readonly PluginManifest[]): string[] {
  const strangers = others.filter(({ name }) => name !== manifest.name);
  const conflict = findClaimConflict(manifest, strangers);
  return conflict ? [`${conflict.holder} already claims ${conflict.type} ${conflict.identifier}.`] : [];
}

async function readFields(plugin: InstalledPlugin, clock: Clock): Promise<PluginFields | string> {
  try {
    const { configEntry: entry } = plugin;
    const dataFolder = pluginDataFolder(plugin);
    const fields = await readFieldsInProcess({ entry, dataFolder, memoryMb: CONFIG_MEMORY_MB, clock });
    return fields.config ? fields : "config.ts has no default export.";
  } catch (error) {
    return `config.ts cannot be loaded: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function configErrors({ config: fields, profile }: PluginFields): string[] {
  const errors = [...Object.entries(fields), ...Object.entries(profile ?? {})].flatMap(([name, field]) => {
    if (!/\S/.test(field?.doc ?? "")) return [`${name} has no description.`];
    return SECRET.test(name) && field.kind !== "secret" ? [`${name} must be a secret field.`] : [];
  });
  for (const [name, { kind }] of Object.entries(profile ?? {}))
    if (kind === "secret") errors.push(`${name} must not be a secret: profiles are readable by all users.`);
  if (errors.length > 0) return errors;
  try {
    runConfig(fields, {});
    return [];
  } catch (error) {
    return [`The defaults are invalid: ${configErrorText(error)}`];
  }
}

function runConfig(fields: ConfigFields, given: Record<string, unknown>): Record<string, unknown> {
  return createPluginConfig(fields, plainSecrets).toRuntime(given).config;
}

function readmeErrors(folder: string, fields: ConfigFields, { listens }: PluginManifest): string[] {
  const text = readText(join(folder, "README.md"));
  if (text === "") return ["README.md is missing."];
  return [...Object.keys(fields), ...listens].flatMap((word) =>
    text.includes(word) ? [] : [`README.md must explain ${word}.`],
  );
}

async function runErrors(plugin: InstalledPlugin, fields: ConfigFields, clock: Clock): Promise<string[]> {
  const { manifest } = plugin;
  const started = await startContractRun({ plugin, config: runConfig(fields, {}), clock });
  if ("error" in started) return [`The plugin failed to start: ${started.error}.`];
  const open = Object.keys(started.run.urls()).map((name) => name.slice(manifest.name.length + 1));
  const missing = manifest.listens.filter((name) => !open.includes(name));
  const errors = missing.map((name) => `The plugin did not open port ${name}.`);
  const end = await started.run.stop();
  return end === null ? errors : [...errors, `The plugin failed to stop: ${end}.`];
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
