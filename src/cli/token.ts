import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { TokenSummary } from "../wiring/control-commands.ts";
import { runControlCommand } from "../wiring/run-control-command.ts";

interface TokenOptions {
  data: string;
  user?: string;
  name?: string;
  expires?: string;
  address?: string[];
  json?: true;
}

/** `carillon token create | list | revoke`: permanent tokens, with or without a running daemon. */
export function addToken(program: Command, terminal: Terminal): void {
  const token = program
    .command("token")
    .description("Create, list and revoke access tokens; works whether or not the daemon runs.")
    .addHelpText(
      "after",
      "\nExample:\n  carillon token create --data data --user admin@example.org --name scripts\n  carillon token list --data data",
    );
  addCreate(token, terminal);
  addList(token, terminal);
  addRevoke(token, terminal);
}

function addCreate(token: Command, terminal: Terminal): void {
  token
    .command("create")
    .description("Create a token with all permissions of its user; it is shown only once.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .requiredOption("--user <user>", "email address or id of the user")
    .requiredOption("--name <name>", "what the token is for")
    .option("--expires <time>", "expiry in ISO 8601, or never; default: after a year (auth.tokenLifetimeDays)")
    .option("--address <networks...>", "addresses or networks (CIDR) from which the token is valid; default: all")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon token create --data data --user admin@example.org --name scripts")
    .action(async ({ data, user, name, expires, address: addresses, json }: TokenOptions) => {
      const created = (await runTokenCommand(data, "token.create", {
        user,
        name,
        expires,
        addresses,
      })) as TokenSummary & {
        token: string;
      };
      terminal.out(json ? JSON.stringify(created) : created.token);
    });
}

function addList(token: Command, terminal: Terminal): void {
  token
    .command("list")
    .description("List tokens: id, user, name, expiry, last use, allowed addresses.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--user <user>", "email address or id; list only this user's tokens")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon token list --data data --user admin@example.org")
    .action(async ({ data, user, json }: TokenOptions) => {
      const lines = (await runTokenCommand(data, "token.list", { user })) as TokenSummary[];
      if (json) return terminal.out(JSON.stringify(lines));
      for (const line of lines) {
        const expiry = line.expires === null ? "never expires" : `expires ${line.expires}`;
        const from = line.lastUsedAddress === null ? "" : ` from ${line.lastUsedAddress}`;
        const use = line.lastUsedAt === null ? "never used" : `used ${line.lastUsedAt}${from}`;
        const limit = line.addresses.length > 0 ? `  only from ${line.addresses.join(", ")}` : "";
        terminal.out(`${line.id}  ${line.user}  ${line.name}  ${expiry}  ${use}${limit}`);
      }
    });
}

function addRevoke(token: Command, terminal: Terminal): void {
  token
    .command("revoke")
    .description("Revoke a token; the next request with it is refused.")
    .argument("<token-id>", "id from `token list`")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon token revoke 0190b7c2-0000-7000-8000-000000000000 --data data")
    .action(async (tokenId: string, { data, json }: TokenOptions) => {
      const line = (await runTokenCommand(data, "token.revoke", { tokenId })) as TokenSummary;
      terminal.out(json ? JSON.stringify(line) : `revoked ${line.name} of ${line.user}`);
    });
}

function runTokenCommand(dataDir: string, command: string, args: Record<string, unknown>): Promise<unknown> {
  return runControlCommand(dataDir, command, args, systemClock);
}
