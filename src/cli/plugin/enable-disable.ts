import type { Command } from "commander";
import type { ApiClient } from "../../api-client/api-client.ts";
import { sleep, systemClock } from "../../lib/clock.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import type { PluginNetwork } from "../../plugin-api/index.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../appliance-options.ts";
import { connectsTo } from "./connects-to.ts";

interface ExtensionRow {
  disabled: boolean;
  globalDisabled: boolean;
  status: { state: string; health: string; reason: string | null } | null;
  /** Of an installed plugin. */
  installation: (PluginNetwork & { signedBy: string | null }) | null;
}

const POLL_INTERVAL_MS = 200;
const SETTLE_TIMEOUT_MS = 15_000;

/** `carillon plugin enable` and `disable`, through the API of a running appliance. */
export function addEnableDisable(plugin: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  for (const [word, disabled] of [["enable", false] as const, ["disable", true] as const]) {
    addApplianceOptions(plugin.command(`${word} <name>`), terminal)
      .description(disabled ? "Disable a plugin." : "Enable a plugin and wait until it runs.")
      .addHelpText("after", `\nExample:\n  carillon plugin ${word} lamp --token …`)
      .action(async (name: string, options: ApplianceOptions) => {
        const tell = disabled ? () => {} : (line: string) => terminal.err(line);
        const { state, reason } = await setEnabled(apiClientFrom(options, terminal), name, disabled, tell);
        terminal.out(`${name}: ${state}${reason === null ? "" : `, ${reason}`}`);
        finish(state === (disabled ? "disabled" : "running") ? EXIT.ok : EXIT.failure);
      });
  }
}

async function setEnabled(api: ApiClient, name: string, disabled: boolean, tell: (line: string) => void) {
  const { extensionIdOf } = await import("../../plugin-host/extension-rows.ts");
  const path = `/extensions/${extensionIdOf(name)}`;
  const { installation } = await api.get<ExtensionRow>(path);
  if (installation) {
    tell(`  signed by: ${installation.signedBy ?? "no trusted publisher"}`);
    tell(`  connects to: ${connectsTo(installation)}`);
  }
  await api.put(path, { disabled });
  const settled = disabled ? ["disabled"] : ["running", "stopped", "absent"];
  for (const stopAt = systemClock.now() + SETTLE_TIMEOUT_MS; ; await sleep(systemClock, POLL_INTERVAL_MS)) {
    const { status } = await api.get<ExtensionRow>(path);
    const { state = "absent", reason = null } = status ?? {};
    if (settled.includes(state) || systemClock.now() > stopAt) return { state, reason };
  }
}
