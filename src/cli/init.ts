import type { Command } from "commander";
import { initAppliance } from "../app/init.ts";
import { systemClock } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import type { Terminal } from "./terminal.ts";

const PASSWORD_HELP = "8 to 1024 characters; or give CARILLON_ADMIN_PASSWORD in the environment";

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
    .option("--admin-password <password>", PASSWORD_HELP)
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  CARILLON_ADMIN_PASSWORD='…' carillon init --data data --admin-email admin@example.org --json\n\n" +
        "The token is the administrator's; it is shown once and never again.",
    )
    .action(async (options: InitOptions) => {
      const password = options.adminPassword ?? terminal.env.CARILLON_ADMIN_PASSWORD ?? "";
      if (password === "") throw new CallerError("required", `Give --admin-password, ${PASSWORD_HELP}.`);
      const made = await initAppliance(options.data, { email: options.adminEmail, password }, systemClock);
      if (options.json) return terminal.out(JSON.stringify(made));
      for (const [name, value] of Object.entries(made)) terminal.out(`${name.padEnd(12)} ${value}`);
      terminal.err(`The appliance in ${options.data} is ready. Keep the token: it is not shown again.`);
      terminal.err(`  Start it: carillon serve --data ${options.data} --listen 127.0.0.1:8080`);
    });
}
