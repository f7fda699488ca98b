import { Command, CommanderError } from "commander";
import { EXIT, EXIT_HELP } from "../lib/exit-codes.ts";
import { productVersion } from "../lib/product-version.ts";
import type { Terminal } from "../lib/terminal.ts";
import { addAgent } from "./agent.ts";
import { addAlarms } from "./alarms.ts";
import { addAudit } from "./audit.ts";
import { addBackup } from "./backup.ts";
import { addBells } from "./bells/bells.ts";
import { addBulk } from "./bulk.ts";
import { addClusters } from "./clusters.ts";
import { addConformance } from "./conformance.ts";
import { addHistory } from "./daily/history.ts";
import { addStatus } from "./daily/status.ts";
import { addStop } from "./daily/stop.ts";
import { addDemo } from "./demo.ts";
import { addDevice } from "./device.ts";
import { addDoctor } from "./doctor.ts";
import { addEmergencies } from "./emergencies.ts";
import { addInit } from "./init.ts";
import { addLicence } from "./licence.ts";
import { addLink } from "./link.ts";
import { addLoad } from "./load.ts";
import { addLogs } from "./logs.ts";
import { addOpenapi } from "./openapi.ts";
import { addPlugin } from "./plugin/plugin.ts";
import { addRetention } from "./retention.ts";
import { addMessage, addSend } from "./send.ts";
import { addHub, addServe } from "./serve.ts";
import { addSettings } from "./settings.ts";
import { addSimulator } from "./simulator.ts";
import { addTenants } from "./tenants.ts";
import { printCommandError, toCommandError } from "./terminal.ts";
import { addTls } from "./tls.ts";
import { addToken } from "./token.ts";
import { addTz } from "./tz.ts";
import { addUpgrade } from "./upgrade.ts";
import { addUpgradePack } from "./upgrade-pack.ts";
import { addUser } from "./user.ts";

/** Adds one command to the program; the command reports its exit code by `finish`. */
export type AddCommand = (program: Command, terminal: Terminal, finish: (exitCode: number) => void) => void;

/** Every command, in the order of `--help`. */
const COMMANDS: Readonly<Record<string, readonly AddCommand[]>> = {
  "Getting started:": [addDemo, addInit, addServe, addSettings, addDoctor],
  "Daily use:": [
    addStatus,
    addDevice,
    addSend,
    addStop,
    addMessage,
    addHistory,
    addEmergencies,
    addAlarms,
    addUser,
    addToken,
    addBulk,
    addLoad,
    addBells,
    addClusters,
    addPlugin,
    addAgent,
    addLogs,
    addAudit,
  ],
  "Maintenance:": [addBackup, addRetention, addTls, addTz, addLicence, addUpgrade],
  "Several appliances:": [addHub, addLink, addTenants],
  "For developers:": [addOpenapi, addConformance, addSimulator, addUpgradePack],
};

/** Runs one command line (without node and script) and returns the exit code; never throws. */
export async function runCommandLine(argv: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = createProgram(terminal, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has already printed help, version or its error; code 0 means success.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return printCommandError(terminal, toCommandError(error));
  }
}

function createProgram(terminal: Terminal, finish: (exitCode: number) => void): Command {
  const program = new Command("carillon")
    .description(
      "Open mass-notification appliance: sends messages to phones, speakers and people and reports the result per device.",
    )
    .version(productVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error: /, "carillon: ")),
    })
    .showHelpAfterError("Add --help to see the usage.")
    .addHelpText(
      "after",
      `\nExample:\n  carillon init --data data --admin-email admin@example.org\n  carillon serve --data data --listen 127.0.0.1:8080\n\n${EXIT_HELP}`,
    );
  for (const [heading, adds] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const add of adds) add(program, terminal, finish);
  }
  return program;
}
