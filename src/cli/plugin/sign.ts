import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { CallerError } from "../../lib/errors.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import type { PluginCheckResult } from "../../plugin-host/contract/check-plugin.ts";
import { createSigningKey, readSigningKeyFile } from "../signing-key.ts";
import { printSteps, withCheckedPlugin } from "./checked-plugin.ts";

const MAX_PUBLISHER_LENGTH = 140;

/** `carillon plugin keygen` and `sign`, for publishers of plugins. */
export function addSign(plugin: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  plugin
    .command("keygen <file>")
    .description("Create the private key that signs plugins, if missing, and print its public key.")
    .addHelpText(
      "after",
      "\nExample:\n  carillon plugin keygen publisher.pem\n\nAdd the line on stdout to trust.plugins in the settings of each appliance.",
    )
    .action(async (file: string) => {
      const { upgradePublicKeyOf } = await import("../../ops/upgrade/upgrade-bundle.ts");
      if (!existsSync(file)) await createSigningKey(file);
      terminal.out(upgradePublicKeyOf(readSigningKeyFile(file)));
      terminal.err(`  Add it to trust.plugins in the settings of each appliance; keep ${file} secret.`);
    });
  plugin
    .command("sign <folder>")
    .description("Check, build, sign and pack a plugin, ready to install.")
    .requiredOption("--key <file>", "private key (PEM, Ed25519), created by `plugin keygen`")
    .requiredOption("--publisher <name>", "your name, which administrators see")
    .requiredOption("--to <file>", "package to create (.tgz)")
    .addHelpText(
      "after",
      '\nExample:\n  carillon plugin sign lamp --key publisher.pem --publisher "Lamps Ltd" --to lamp-0.1.0.tgz',
    )
    .action(async (source: string, options: { key: string; publisher: string; to: string }) => {
      const isPacked = await withCheckedPlugin(source, { runsPeer: true }, async (checked) => {
        if (!printSteps(checked, terminal)) return false;
        await packSigned(checked, options);
        return true;
      });
      if (isPacked) terminal.out(`${options.to}: signed as ${options.publisher}`);
      finish(isPacked ? EXIT.ok : EXIT.failure);
    });
}

async function packSigned(
  { manifest, built }: PluginCheckResult,
  { key, publisher, to }: { key: string; publisher: string; to: string },
): Promise<void> {
  if (!manifest || built === null) return;
  if (!/\S/.test(publisher) || publisher.length > MAX_PUBLISHER_LENGTH)
    throw new CallerError("invalid-value", `--publisher must have 1 to ${MAX_PUBLISHER_LENGTH} characters.`);
  if (!existsSync(dirname(to))) throw new CallerError("invalid-value", `Folder ${dirname(to)} not found.`);
  const { parseSigningKey } = await import("../../ops/upgrade/upgrade-bundle.ts");
  const { signPlugin } = await import("../../plugin-host/plugin-signature.ts");
  const { create } = await import("tar");
  const { name, version } = manifest;
  signPlugin(built, { name, version, publisher, key: parseSigningKey(readSigningKeyFile(key)) });
  await create({ gzip: true, portable: true, file: to, cwd: join(built, "..") }, [name]);
}
