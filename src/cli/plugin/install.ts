import { cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Terminal } from "../../lib/terminal.ts";
import type { PluginManifest } from "../../plugin-api/index.ts";
import { sendControlCommand } from "../../wiring/control-socket.ts";
import { requireDatabase } from "../../wiring/require-database.ts";
import type { CheckedPlugin } from "./checked-plugin.ts";
import { connectsTo } from "./connects-to.ts";

const DEFAULT_MEMORY_MB = 128;

/**
 * Shows what a checked plugin requests and, once that was agreed to, copies it into the data directory of an appliance; a
 * running daemon loads it at once. False when it was not agreed to. Throws UpstreamError when there is no appliance.
 */
export async function installPlugin(
  { manifest, built, signedBy }: CheckedPlugin,
  dataDir: string,
  { isAgreed, allowsUnsigned }: { isAgreed: boolean; allowsUnsigned: boolean },
  terminal: Terminal,
): Promise<boolean> {
  if (!manifest || built === null) return false;
  requireDatabase(dataDir);
  for (const line of requestedPermissions(manifest, signedBy)) terminal.err(line);
  if (signedBy === null && !allowsUnsigned) {
    terminal.err("Nothing was installed. The plugin is not signed: add --unsigned if you trust where it comes from.");
    return false;
  }
  if (!isAgreed) {
    terminal.err("Nothing was installed. Add --yes if you trust it.");
    return false;
  }
  replacePlugin(built, join(dataDir, "plugins"), manifest.name);
  const response = await sendControlCommand(dataDir, { order: "plugin.takeUp", args: {} });
  const next = `carillon plugin enable ${manifest.name} --token …`;
  const when = response ? "" : "start the daemon, then: ";
  terminal.out(
    `Installed ${manifest.name} ${manifest.version}. A new plugin is disabled at first. Next: ${when}${next}`,
  );
  return true;
}

function requestedPermissions(
  { name, version, description, network = {}, ...manifest }: PluginManifest,
  signedBy: string | null,
): string[] {
  const claims = manifest.claims.map(({ type, identifier }) => `${type} ${identifier}`);
  const list = (words: readonly string[]): string => words.join(", ") || "none";
  return [
    `${name} ${version}: ${description}`,
    `  devices: ${list(claims)}`,
    `  user devices: ${manifest.deviceType ?? "none"}`,
    `  ports: ${list(manifest.listens)}`,
    `  rows it watches: ${list(manifest.watches)}`,
    `  packages: ${list(manifest.packages)}`,
    `  memory: ${manifest.memoryMb ?? DEFAULT_MEMORY_MB} MiB`,
    `  connects to: ${connectsTo(network)}`,
    `  signed by: ${signedBy ?? "no trusted publisher"}`,
  ];
}

/** A running plugin keeps the files it has loaded; readers find either the old folder or the new one, never a mix. */
function replacePlugin(built: string, plugins: string, name: string): void {
  const [fresh, old] = [`.new-${name}`, `.old-${name}`].map((each) => join(plugins, each)) as [string, string];
  mkdirSync(plugins, { recursive: true });
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  cpSync(built, fresh, { recursive: true });
  try {
    renameSync(join(plugins, name), old);
  } catch {
    // It was not installed before.
  }
  renameSync(fresh, join(plugins, name));
  rmSync(old, { recursive: true, force: true });
}
