import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { initAppliance, requireUninitialized } from "../wiring/init.ts";
import { PASSWORD_HELP, readNewPassword } from "./password-prompt.ts";
import type { Terminal } from "./terminal.ts";

const PASSWORD = {
  whose: "the administrator",
  option: "--admin-password",
  variable: "CARILLON_ADMIN_PASSWORD",
};

/** What the fields of the first administrator are called on the command line. */
const OPTION_OF: Readonly<Record<string, string>> = { email: "--admin-email", password: "--admin-password" };

interface InitOptions {
  data: string;
  adminEmail: string;
  adminPassword?: string;
  json?: true;
}

/** `carillon init`: sets up an appliance in an empty data directory. */
export function addInit(program: Command, terminal: Terminal): void {
  program
    .command("init")
    .description("Set up an appliance: administrator, root domain, and this machine as its endpoint.")
    .requiredOption("--data <dir>", "folder for the appliance's data; made when missing")
    .requiredOption("--admin-email <address>", "log-in of the administrator")
    .option("--admin-password <password>", `${PASSWORD_HELP}, or CARILLON_ADMIN_PASSWORD in the environment`)
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon init --data data --admin-email admin@example.org\n\n" +
        "The token is the administrator's; it is shown once and never again.",
    )
    .action(async (options: InitOptions) => {
      // Nobody thinks of a password for an appliance that has its administrator.
      await requireUninitialized(options.data, systemClock);
      const password = options.adminPassword ?? (await readNewPassword(terminal, PASSWORD));
      const made = await initAppliance(options.data, { email: options.adminEmail, password }, systemClock).catch(
        asOption,
      );
      if (options.json) return terminal.out(JSON.stringify(made));
      for (const [name, value] of Object.entries(made)) terminal.out(`${name.padEnd(12)} ${value}`);
      terminal.err(`The appliance in ${options.data} is ready. Keep the token: it is not shown again.`);
      terminal.err(`  Start it: carillon serve --data ${options.data} --listen 127.0.0.1:8080`);
    });
}

/** A fault of a field is one of the option that it came by. */
function asOption(error: unknown): never {
  const [fault] = error instanceof CallerError ? error.faults : [];
  const option = OPTION_OF[fault?.field ?? ""];
  if (!fault || option === undefined) throw error;
  throw new CallerError(fault.type, fault.message.replace(`Field ${fault.field}`, option), [
    { ...fault, field: option },
  ]);
}
