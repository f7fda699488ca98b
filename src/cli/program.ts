import { Command, CommanderError } from "commander";
import { ownVersion } from "../app/version.ts";
import { addAgent } from "./agent.ts";
import { addAudit } from "./audit.ts";
import { addBackup } from "./backup.ts";
import { addBells } from "./bells/bells.ts";
import { addBulk } from "./bulk.ts";
import { addCampus } from "./campus.ts";
import { addClusters } from "./clusters.ts";
import { addConform } from "./conform.ts";
import { addDemo } from "./demo.ts";
import { addDoctor } from "./doctor.ts";
import { EXIT, EXIT_HELP } from "./exit-codes.ts";
import { addInit } from "./init.ts";
import { addLicence } from "./licence.ts";
import { addLink } from "./link.ts";
import { addLogs } from "./logs.ts";
import { addOpenapi } from "./openapi.ts";
import { addPlugin } from "./plugin/plugin.ts";
import { addHub, addServe } from "./serve.ts";
import { addSettings } from "./settings.ts";
import { faultOf, type Terminal, tellFault } from "./terminal.ts";
import { addTls } from "./tls.ts";
import { addToken } from "./token.ts";
import { addUpgrade } from "./upgrade.ts";
import { addUser } from "./user.ts";

/** Adds one command to the program; `finish` takes the exit code it ended with. */
export type AddCommand = (program: Command, terminal: Terminal, finish: (exitCode: number) => void) => void;

/** Every command, in the order of `--help`. */
const COMMANDS: readonly AddCommand[] = [
  addInit,
  addServe,
  addHub,
  addLink,
  addDemo,
  addToken,
  addUser,
  addAudit,
  addBackup,
  addTls,
  addLicence,
  addUpgrade,
  addDoctor,
  addLogs,
  addOpenapi,
  addConform,
  addSettings,
  addBulk,
  addBells,
  addClusters,
  addPlugin,
  addAgent,
  addCampus,
];

/** Runs one command line (without node and script) and gives the exit code; never throws. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = createProgram(terminal, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has written help, version or its complaint already; code 0 means that nothing is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return tellFault(terminal, faultOf(error));
  }
}

function createProgram(terminal: Terminal, finish: (exitCode: number) => void): Command {
  const program = new Command("carillon")
    .description(
      "Open mass-notification appliance: sends a message to phones, speakers and people, with proof per device.",
    )
    .version(ownVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    })
    .showHelpAfterError("Add --help to see how it is used.")
    .addHelpText(
      "after",
      `\nExample:\n  carillon init --data data --admin-email admin@example.org --admin-password '…'\n  carillon serve --data data --listen 127.0.0.1:8080\n\n${EXIT_HELP}`,
    );
  for (const add of COMMANDS) add(program, terminal, finish);
  return program;
}
