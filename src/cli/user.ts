import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { runControlCommand } from "../wiring/offline-commands.ts";
import { readNewPassword } from "./password-prompt.ts";
import type { Terminal } from "./terminal.ts";

interface UnlockOptions {
  data: string;
  user: string;
  password?: string | true;
  breakGlass?: true;
  json?: true;
}

/**
 * `carillon user unlock`: the way back in when every administrator is locked out or forgot its password, or the identity
 * providers fail, with the daemon running or not. own choice: whoever can open the data directory may do everything.
 */
export function addUser(program: Command, terminal: Terminal): void {
  const user = program
    .command("user")
    .description("Let somebody in again; works while the daemon runs and while it does not.")
    .addHelpText("after", "\nExample:\n  carillon user unlock --data data --user admin@example.org");
  user
    .command("unlock")
    .description("Take the lock off an account and, if asked, set a new password, which ends its sessions.")
    .requiredOption("--data <dir>", "the appliance's data")
    .requiredOption("--user <user>", "address or id of the user")
    .option("--password [password]", "a new password, asked for when it is not given here; else the old one stays")
    .option("--break-glass", "let the account in by its password while the built-in identity provider is off")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon user unlock --data data --user admin@example.org --password\n\n" +
        "Without a terminal the new password is taken from CARILLON_PASSWORD.\n" +
        "With --break-glass the account belongs to no other identity provider any more and needs a password.",
    )
    .action(async ({ data, json, password: given, ...about }: UnlockOptions) => {
      const asked = { whose: about.user, option: "--password PASSWORD", variable: "CARILLON_PASSWORD" };
      const password = given === true ? await readNewPassword(terminal, asked) : given;
      const args = password === undefined ? about : { ...about, password };
      const unlocked = (await runControlCommand(data, "user.unlock", args, systemClock)) as { user: string };
      terminal.out(json ? JSON.stringify(unlocked) : `unlocked ${unlocked.user}`);
    });
}
