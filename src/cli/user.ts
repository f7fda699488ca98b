import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import type { Terminal } from "../lib/terminal.ts";
import { runControlCommand } from "../wiring/run-control-command.ts";
import { readNewPassword } from "./password-prompt.ts";

interface UnlockOptions {
  data: string;
  user: string;
  password?: string | true;
  breakGlass?: true;
  json?: true;
}

/**
 * `carillon user unlock`, `user revoke` and `user reset-factors`: recover access when all administrators are locked out,
 * forgot their password or lost their second factors, or the identity providers fail; with or without a running daemon.
 * Write access to the data directory is authorization enough.
 * @source docs/decisions/0600-command-line.md, Access
 */
export function addUser(program: Command, terminal: Terminal): void {
  const user = program
    .command("user")
    .description(
      "Unlock an account, end its access, or remove its second factors; works whether or not the daemon runs.",
    )
    .addHelpText("after", "\nExample:\n  carillon user unlock --data data --user admin@example.org");
  user
    .command("unlock")
    .description("Unlock an account and optionally set a new password, which ends its sessions.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .requiredOption("--user <user>", "email address or id of the user")
    .option(
      "--password [password]",
      "set a new password, prompted for if not given; without this option the password stays",
    )
    .option(
      "--break-glass",
      "let the account log in with its password while the built-in identity provider is disabled",
    )
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon user unlock --data data --user admin@example.org --password\n\n" +
        "Without a terminal, set the new password in CARILLON_PASSWORD.\n" +
        "--break-glass unlinks the account from any other identity provider and requires a password.",
    )
    .action(async ({ data, json, password: given, ...about }: UnlockOptions) => {
      const prompt = { whose: about.user, option: "--password PASSWORD", variable: "CARILLON_PASSWORD" };
      const password = given === true ? await readNewPassword(terminal, prompt) : given;
      const args = password === undefined ? about : { ...about, password };
      const unlocked = (await runControlCommand(data, "user.unlock", args, systemClock)) as { user: string };
      terminal.out(json ? JSON.stringify(unlocked) : `unlocked ${unlocked.user}`);
    });
  user
    .command("revoke")
    .description("End all sessions, tokens, invitations and grants of applications of an account. It stays unlocked.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .requiredOption("--user <user>", "email address or id of the user")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon user revoke --data data --user admin@example.org")
    .action(async ({ data, json, user: whose }: Pick<UnlockOptions, "data" | "json" | "user">) => {
      const done = (await runControlCommand(data, "user.revoke", { user: whose }, systemClock)) as {
        user: string;
        revoked: number;
      };
      terminal.out(json ? JSON.stringify(done) : `revoked ${done.revoked} sessions and tokens of ${done.user}`);
    });
  user
    .command("reset-factors")
    .description("Remove the second factors of an account whose owner has lost them, and end its sessions.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .requiredOption("--user <user>", "email address or id of the user")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon user reset-factors --data data --user admin@example.org\n\n" +
        "The password then is enough to log in: verify first that the request comes from the owner.",
    )
    .action(async ({ data, json, user: given }: Pick<UnlockOptions, "data" | "user" | "json">) => {
      const reset = (await runControlCommand(data, "user.resetFactors", { user: given }, systemClock)) as {
        user: string;
      };
      terminal.out(json ? JSON.stringify(reset) : `removed the second factors of ${reset.user}`);
    });
}
