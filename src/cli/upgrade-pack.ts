import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { CallerError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import { counted } from "./counted.ts";
import { createSigningKey, readSigningKeyFile } from "./signing-key.ts";

/** `carillon upgrade-key` and `carillon upgrade-pack`, for publishers of versions. */
export function addUpgradePack(program: Command, terminal: Terminal): void {
  program
    .command("upgrade-key")
    .description("Create the private key that signs upgrades, if missing, and print its public key.")
    .argument("<file>", "private key (PEM, Ed25519), readable by you alone")
    .addHelpText(
      "after",
      "\nExample:\n  carillon upgrade-key maker.pem\n\n" +
        "Add the line on stdout to trust.upgrades in the settings of each appliance. Anybody with the private key can publish\n" +
        "versions for all of them: do not store it on the appliances.",
    )
    .action(async (file: string) => {
      const { upgradePublicKeyOf } = await import("../ops/upgrade/upgrade-bundle.ts");
      if (!existsSync(file)) await createSigningKey(file);
      terminal.out(upgradePublicKeyOf(readSigningKeyFile(file)));
      terminal.err(`  Add it to trust.upgrades in the settings of each appliance; keep ${file} secret.`);
    });
  program
    .command("upgrade-pack")
    .description("Pack and sign a built version as an upgrade, for publishers of versions.")
    .argument("<folder>", "folder of the built version: package.json, dist, node_modules …")
    .requiredOption("--key <file>", "private key (PEM, Ed25519), created by `upgrade-key`")
    .requiredOption("--to <file>", "upgrade file to create (.tgz)")
    .addHelpText(
      "after",
      "\nExample:\n  carillon upgrade-pack . --key maker.pem --to carillon-0.2.0.tgz\n\n" +
        "The version number is that of package.json. Folders named .git, data directories of appliances and files\n" +
        "that contain a private key or secret key are left out.",
    )
    .action(async (folder: string, { key, to }: { key: string; to: string }) => {
      const { packUpgrade, upgradePublicKeyOf } = await import("../ops/upgrade/upgrade-bundle.ts");
      for (const part of ["package.json", "dist/src/main.js"])
        if (!existsSync(join(folder, part))) throw notBuilt(folder, part);
      if (!existsSync(dirname(to))) throw new CallerError("invalid-value", `Folder ${dirname(to)} not found.`);
      const pem = readSigningKeyFile(key);
      const { version, files } = await packUpgrade(folder, pem, to);
      terminal.out(`${to}: ${version}, ${counted(Object.keys(files).length, "file")}`);
      terminal.err(`  Appliances with ${upgradePublicKeyOf(pem)} in trust.upgrades of their settings accept it.`);
    });
}

function notBuilt(folder: string, part: string): CallerError {
  return new CallerError(
    "invalid-value",
    `${folder} is not a built version: ${part} is missing. Build it with npm run build.`,
  );
}
