import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { CallerError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";

/** `carillon backup key create | show`. */
export function addBackupKey(backup: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const key = backup
    .command("key")
    .description("Create a key pair for encrypted backups, or show the public keys that backups are encrypted to.")
    .addHelpText(
      "after",
      "\nExample:\n  carillon backup key create --config /etc/carillon/carillon.yaml > identity.txt",
    );
  key
    .command("create")
    .description("Print a new identity once, and add its public key to the settings file.")
    .option("--config <file>", "settings file to whose backups.recipients the public key is added")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon backup key create --config /etc/carillon/carillon.yaml > identity.txt\n\n" +
        "The identity restores the backups. It is stored nowhere: keep it apart from the appliance, such as in the safe.\n" +
        "Encrypted backups can't be restored without it. Each further key can restore them as well.",
    )
    .action(async ({ config }: { config?: string }, command: Command) => {
      const { json } = command.optsWithGlobals<{ json?: true }>();
      const { createBackupKey } = await import("../ops/backup/backup-encryption.ts");
      const { identity, recipient } = await createBackupKey();
      if (config !== undefined) {
        const { addToSettingsList } = await import("../settings/edit-settings.ts");
        addToSettingsList(config, ["backups", "recipients"], recipient);
      }
      terminal.out(json ? JSON.stringify({ identity, recipient }) : `# public key: ${recipient}\n${identity}`);
      const stored =
        config === undefined ? "Add the public key to backups.recipients" : `Added the public key to ${config}`;
      terminal.err(`${stored}; backups are encrypted from the next start of the daemon on.`);
      terminal.err(
        "Keep the identity apart from the appliance: it is not shown again, and no backup is restored without it.",
      );
    });
  addShow(key, terminal, finish);
}

function addShow(key: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  key
    .command("show")
    .description("Print the public keys in the settings file, and with an identity, which of them it belongs to.")
    .requiredOption("--config <file>", "settings file")
    .option("--identity <file>", "file with an identity: exit code 1 if it restores no future backup")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon backup key show --config /etc/carillon/carillon.yaml --identity identity.txt",
    )
    .action(async (options: { config: string; identity?: string }, command: Command) => {
      const { json } = command.optsWithGlobals<{ json?: true }>();
      const { loadSettings } = await import("../settings/load-settings.ts");
      const { recipients } = loadSettings(options.config).backups;
      const own = options.identity === undefined ? null : await recipientsIn(options.identity);
      const shown = recipients.map((recipient) => ({ recipient, ...(own && { matches: own.has(recipient) }) }));
      if (json) terminal.out(JSON.stringify({ recipients: shown }));
      else for (const { recipient, matches } of shown) terminal.out(`${recipient}${matches ? "  this identity" : ""}`);
      if (recipients.length === 0)
        terminal.err(`Backups are not encrypted: ${options.config} has no backups.recipients.`);
      else if (own && !shown.some(({ matches }) => matches))
        terminal.err(`${options.identity} belongs to none of these public keys: it does not restore future backups.`);
      finish(own && !shown.some(({ matches }) => matches) ? EXIT.failure : EXIT.ok);
    });
}

async function recipientsIn(file: string): Promise<Set<string>> {
  const { recipientOf } = await import("../ops/backup/backup-encryption.ts");
  return new Set(await Promise.all((await readIdentities(file)).map(recipientOf)));
}

/** The identities in `file`. Throws CallerError if it can't be read or has none. */
export async function readIdentities(file: string): Promise<string[]> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new CallerError("invalid-value", `The identity file ${file} can't be read.`);
  }
  const { parseIdentities } = await import("../ops/backup/backup-encryption.ts");
  return parseIdentities(text, file);
}
