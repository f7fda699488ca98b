import { existsSync } from "node:fs";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { EXIT } from "../lib/exit-codes.ts";
import { productVersion } from "../lib/product-version.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { DaemonState } from "../ops/diagnostics.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";
import { readSettings } from "./settings.ts";

const MARKS = { good: "ok", warning: "warning", fault: "ERROR" } as const;

/** `carillon doctor`: checks everything that may keep an appliance from working and says what to do next. */
export function addDoctor(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("doctor")
    .description("Check what may keep the appliance from working and say what to do next.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--config <file>", "settings file (YAML)")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon doctor --data /var/lib/carillon --config /etc/carillon/carillon.yaml\n\nExit code 1 when a check finds an error.",
    )
    .action(async ({ data, config, json }: { data: string; config?: string; json?: true }) => {
      const { runDiagnostics } = await import("../ops/diagnostics.ts");
      const settings = await readSettings(terminal, config);
      if (typeof settings === "number") return finish(settings);
      const findings = await runDiagnostics({
        dataDir: data,
        settings,
        daemonState: await daemonStateOf(data),
        version: productVersion(),
        clock: systemClock,
      });
      if (json) terminal.out(JSON.stringify(findings));
      else
        for (const { check, state, found, next } of findings) {
          terminal.out(`${MARKS[state].padEnd(8)} ${check}: ${found}`);
          if (next !== null) terminal.out(`         → ${next}`);
        }
      finish(findings.some(({ state }) => state === "fault") ? EXIT.failure : EXIT.ok);
    });
}

/** State reported by the daemon of this data directory; null when none runs. */
export async function daemonStateOf(dataDir: string): Promise<DaemonState | null> {
  if (!existsSync(dataDir)) return null;
  const response = await sendControlCommand(dataDir, { order: "state", args: {} });
  return response ? (response.result as DaemonState) : null;
}
