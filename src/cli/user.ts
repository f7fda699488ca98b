import type { Command } from "commander";
import { giveOrder } from "../app/offline.ts";
import { systemClock } from "../base/clock.ts";
import type { Terminal } from "./terminal.ts";

interface UnlockOptions {
  data: string;
  user: string;
  password?: string;
  json?: true;
}

/**
 * `carillon user unlock`: the way back in when every administrator is locked out or forgot its password, with the daemon
 * running or not. own choice: whoever can open the data directory may do everything.
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
    .option("--password <password>", "password from now on; the old one stays when not given")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon user unlock --data data --user admin@example.org --password '…'")
    .action(async ({ data, json, ...args }: UnlockOptions) => {
      const unlocked = (await giveOrder(data, "user.unlock", args, systemClock)) as { user: string };
      terminal.out(json ? JSON.stringify(unlocked) : `unlocked ${unlocked.user}`);
    });
}
