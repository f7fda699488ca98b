import type { Command } from "commander";
import { sleep, systemClock } from "../../base/clock.ts";
import { extensionIdOf } from "../../extensions/extension-rows.ts";
import { type ApiClient, createApiClient } from "../api-client.ts";
import { EXIT } from "../exit-codes.ts";
import { type Terminal, tellFault } from "../terminal.ts";

interface SwitchOptions {
  url: string;
  token?: string;
}

interface Shown {
  disabled: boolean;
  globalDisabled: boolean;
  status: { state: string; health: string; reason: string | null } | null;
}

const LOOK_EVERY_MS = 200;
const WAIT_MS = 15_000;

/** `carillon plugin enable` and `disable`, by the API of a running appliance. */
export function addSwitches(plugin: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  for (const [word, disabled] of [["enable", false] as const, ["disable", true] as const]) {
    plugin
      .command(`${word} <name>`)
      .description(disabled ? "Switch a plugin off." : "Switch a plugin on and wait until it runs.")
      .option("--url <url>", "the appliance", terminal.env.CARILLON_URL ?? "http://127.0.0.1:8080")
      .option("--token <token>", "token of an administrator; or give CARILLON_TOKEN in the environment")
      .addHelpText("after", `\nExample:\n  carillon plugin ${word} lamp --token …`)
      .action(async (name: string, { url, token = terminal.env.CARILLON_TOKEN }: SwitchOptions) => {
        if (!token) {
          const next = "Add --token or CARILLON_TOKEN.";
          return finish(tellFault(terminal, { exitCode: EXIT.usage, message: `${word} needs a token`, next }));
        }
        const { state, reason } = await turn(createApiClient(url, token), name, disabled);
        terminal.out(`${name}: ${state}${reason === null ? "" : `, ${reason}`}`);
        finish(state === (disabled ? "disabled" : "running") ? EXIT.ok : EXIT.failure);
      });
  }
}

async function turn(api: ApiClient, name: string, disabled: boolean) {
  const path = `/extensions/${extensionIdOf(name)}`;
  await api.put(path, { disabled });
  const settled = disabled ? ["disabled"] : ["running", "stopped", "absent"];
  for (const stopAt = systemClock.now() + WAIT_MS; ; await sleep(systemClock, LOOK_EVERY_MS)) {
    const { status } = await api.get<Shown>(path);
    const { state = "absent", reason = null } = status ?? {};
    if (settled.includes(state) || systemClock.now() > stopAt) return { state, reason };
  }
}
