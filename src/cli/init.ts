import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import { PASSWORD_HELP, readNewPassword } from "./password-prompt.ts";
import { readSettings } from "./settings.ts";

const PASSWORD = {
  whose: "the administrator",
  option: "--admin-password",
  variable: "CARILLON_ADMIN_PASSWORD",
};

/** The option of each field of the first administrator. */
const OPTION_OF: Readonly<Record<string, string>> = { email: "--admin-email", password: "--admin-password" };

interface InitOptions {
  data: string;
  adminEmail: string;
  adminPassword?: string;
  config?: string;
  json?: true;
}

/** `carillon init`: sets up an appliance in an empty data directory. */
export function addInit(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("init")
    .description("Set up an appliance: administrator, root domain, and this machine as its endpoint.")
    .requiredOption("--data <dir>", "data directory of the appliance; created if missing")
    .requiredOption("--admin-email <address>", "email address of the administrator, used to log in")
    .option("--admin-password <password>", `${PASSWORD_HELP}, or CARILLON_ADMIN_PASSWORD in the environment`)
    .option("--config <file>", "settings file, for the length of passwords")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon init --data data --admin-email admin@example.org\n\n" +
        "The token is the administrator's; it is shown only once.",
    )
    .action(async (options: InitOptions) => {
      const { initAppliance, requireUninitialized } = await import("../wiring/init.ts");
      const settings = await readSettings(terminal, options.config);
      if (typeof settings === "number") return finish(settings);
      // Check first: do not ask for a password if the appliance is already set up.
      await requireUninitialized(options.data, systemClock);
      const password = options.adminPassword ?? (await readNewPassword(terminal, PASSWORD));
      const admin = { email: options.adminEmail, password };
      const { createNewPasswords } = await import("../auth/new-passwords.ts");
      const passwords = createNewPasswords(systemClock, settings.auth.passwordMinLength);
      const created = await initAppliance(options.data, admin, systemClock, passwords).catch(asOption);
      if (options.json) return terminal.out(JSON.stringify(created));
      for (const [name, value] of Object.entries(created)) terminal.out(`${name.padEnd(12)} ${value}`);
      terminal.err(`The appliance in ${options.data} is ready. Keep the token: it is not shown again.`);
      terminal.err(`  Start the daemon: carillon serve --data ${options.data} --listen 127.0.0.1:8080`);
    });
}

/** Reports an invalid field under the name of its command line option. */
function asOption(error: unknown): never {
  const [fieldError] = error instanceof CallerError ? error.faults : [];
  const option = OPTION_OF[fieldError?.field ?? ""];
  if (!fieldError || option === undefined) throw error;
  throw new CallerError(fieldError.type, fieldError.message.replace(`Field ${fieldError.field}`, option), [
    { ...fieldError, field: option },
  ]);
}
