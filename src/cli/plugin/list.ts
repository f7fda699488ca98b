import type { Command } from "commander";
import type { Terminal } from "../../lib/terminal.ts";
import type { PluginNetwork } from "../../plugin-api/index.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../appliance-options.ts";
import { connectsTo } from "./connects-to.ts";

interface ListedExtension {
  name: string;
  status: { state: string; health: string; reason: string | null } | null;
  installation: (PluginNetwork & { version: string; signedBy: string | null }) | null;
}

/** `carillon plugin list`, through the API of a running appliance. */
export function addList(plugin: Command, terminal: Terminal): void {
  addApplianceOptions(plugin.command("list"), terminal)
    .description("List the plugins with their state; of installed ones, who signed them and where they connect to.")
    .addHelpText("after", "\nExample:\n  carillon plugin list --token …")
    .action(async (options: ApplianceOptions) => {
      const api = apiClientFrom(options, terminal);
      const { data } = await api.get<{ data: ListedExtension[] }>("/extensions?limit=1000");
      for (const { name, status, installation } of data) {
        if (!status) continue;
        const { state, reason } = status;
        terminal.out(`${name}: ${state}${reason === null ? "" : `, ${reason}`}`);
        if (!installation) continue;
        const signer = installation.signedBy === null ? "unsigned" : `signed by ${installation.signedBy}`;
        terminal.out(`  ${installation.version}, ${signer}; connects to ${connectsTo(installation)}`);
      }
    });
}
