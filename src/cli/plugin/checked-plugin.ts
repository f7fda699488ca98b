import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { CallerError, invalidValue } from "../../lib/errors.ts";
import type { Terminal } from "../../lib/terminal.ts";
import type { PluginCheckResult } from "../../plugin-host/contract/check-plugin.ts";
import type { PluginTrust } from "../../plugin-host/plugin-signature.ts";

export interface PluginSourceOptions {
  /** Data directory of an appliance, whose plugins may claim the same devices. */
  data?: string;
  /** Runs the test peer of the plugin with the rights of this command: its author does. */
  runsPeer: boolean;
  /** Takes a signed package as it is, by these keys; without it signatures are left out. */
  trust?: PluginTrust;
}

/** A checked plugin, and who signed it. */
export type CheckedPlugin = PluginCheckResult & { signedBy: string | null };

/** Checks the plugin at `source` and passes the result to `use` before the temporary files are removed. */
export async function withCheckedPlugin<T>(
  source: string,
  { data, runsPeer, trust }: PluginSourceOptions,
  use: (checked: CheckedPlugin) => Promise<T> | T,
): Promise<T> {
  if (!existsSync(source)) throw invalidValue("folder", `${source} not found.`);
  const { checkPlugin } = await import("../../plugin-host/contract/check-plugin.ts");
  const { builtInPluginFolder, findPlugins, installedPluginFolder } = await import(
    "../../plugin-host/installed-plugins.ts"
  );
  const { isSigned } = await import("../../plugin-host/plugin-signature.ts");
  const { unpackPluginPackage } = await import("./package-file.ts");
  const workDir = mkdtempSync(join(tmpdir(), "carillon-plugin-"));
  try {
    const sources = /\.(tgz|tar\.gz)$/.test(source) ? await unpackPluginPackage(source, workDir) : source;
    const ownFolder = data === undefined ? null : installedPluginFolder(data);
    const others = findPlugins(builtInPluginFolder(), ownFolder).installed.map(({ manifest }) => manifest);
    if (trust && isSigned(sources)) return await use(await checkSigned(sources, others, trust));
    const checked = await checkPlugin({ sources, workDir, others, clock: systemClock, runsPeer });
    return await use({ ...checked, signedBy: null });
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/** A signed package is built and was checked by its publisher. Throws CallerError if its signature is not good. */
async function checkSigned(
  sources: string,
  others: Parameters<typeof import("../../plugin-host/claims.ts").findClaimConflict>[1],
  trust: PluginTrust,
): Promise<CheckedPlugin> {
  const { findClaimConflict } = await import("../../plugin-host/claims.ts");
  const { readManifest } = await import("../../plugin-host/manifest.ts");
  const { verifyPlugin } = await import("../../plugin-host/plugin-signature.ts");
  const name = basename(resolve(sources));
  const { manifest, errors } = readManifest(readFileSync(join(sources, "plugin.json"), "utf8"), name);
  if (!manifest) return { steps: [{ step: "plugin.json", errors }], manifest: null, built: null, signedBy: null };
  const steps = [{ step: "plugin.json", errors: [] as string[] }];
  try {
    const signedBy = verifyPlugin(sources, manifest, trust);
    const conflict = findClaimConflict(
      manifest,
      others.filter((other) => other.name !== name),
    );
    const claims = conflict ? [`${conflict.holder} already claims ${conflict.type} ${conflict.identifier}.`] : [];
    steps.push({ step: "signature", errors: [] }, { step: "claims", errors: claims });
    return { steps, manifest, built: conflict ? null : sources, signedBy };
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    steps.push({ step: "signature", errors: [error.message] });
    return { steps, manifest, built: null, signedBy: null };
  }
}

/** Prints each step; true when all passed. */
export function printSteps({ steps, built }: PluginCheckResult, terminal: Terminal): boolean {
  for (const { step, errors } of steps) {
    terminal.err(`${errors.length === 0 ? "ok  " : "FAIL"} ${step}`);
    for (const error of errors) terminal.err(`       ${error}`);
  }
  return built !== null;
}
