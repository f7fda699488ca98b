import { cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { PluginManifest } from "../../plugin-api/index.ts";
import type { PluginCheckResult } from "../../plugin-host/contract/check-plugin.ts";
import { requireDatabase } from "../../wiring/appliance-data.ts";
import { sendControlCommand } from "../../wiring/control-socket.ts";
import type { Terminal } from "../terminal.ts";

const MEMORY_MB = 128;

/**
 * Shows what a checked plugin asks for and, once that was agreed to, puts it into the data of an appliance; a daemon that
 * runs takes it up. False when it was not agreed to. Throws UpstreamError when there is no appliance.
 */
export async function installPlugin(
  { manifest, built }: PluginCheckResult,
  dataDir: string,
  agreed: boolean,
  terminal: Terminal,
): Promise<boolean> {
  if (!manifest || built === null) return false;
  requireDatabase(dataDir);
  for (const line of requestedPermissions(manifest)) terminal.err(line);
  if (!agreed) {
    terminal.err("Nothing was installed. Add --yes if you trust it.");
    return false;
  }
  replacePlugin(built, join(dataDir, "plugins"), manifest.name);
  const order = await sendControlCommand(dataDir, { order: "plugin.takeUp", args: {} });
  const next = `carillon plugin enable ${manifest.name} --token …`;
  const when = order ? "" : "start the daemon, then: ";
  terminal.out(
    `installed ${manifest.name} ${manifest.version}; it is switched off unless it ran before. next: ${when}${next}`,
  );
  return true;
}

function requestedPermissions({ name, version, description, ...manifest }: PluginManifest): string[] {
  const claims = manifest.claims.map(({ type, identifier }) => `${type} ${identifier}`);
  const list = (words: readonly string[]): string => words.join(", ") || "none";
  return [
    `${name} ${version}: ${description}`,
    `  devices it is given: ${list(claims)}`,
    `  people's devices it serves: ${manifest.deviceType ?? "none"}`,
    `  ports it opens: ${list(manifest.listens)}`,
    `  rows it is told of: ${list(manifest.watches)}`,
    `  packages inside: ${list(manifest.packages)}`,
    `  memory: ${manifest.memoryMb ?? MEMORY_MB} MiB, and the network and files as the daemon's own user has them`,
  ];
}

/** What runs now goes on with the files that it has read; whoever looks finds the old folder or the new one. */
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
