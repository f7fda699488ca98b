import { generateKeyPairSync } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { CallerError } from "../lib/errors.ts";
import { packUpgrade, upgradePublicKeyOf } from "../ops/upgrade/upgrade-bundle.ts";
import type { Terminal } from "./terminal.ts";

/** For those who make versions: `carillon upgrade-key` and `carillon upgrade-pack`. */
export function addUpgradePack(program: Command, terminal: Terminal): void {
  program
    .command("upgrade-key")
    .description(
      "Make the key that signs upgrades, once, and tell its public half; that of a key that is there already.",
    )
    .argument("<file>", "private key (PEM, Ed25519), readable by you alone")
    .addHelpText(
      "after",
      "\nExample:\n  carillon upgrade-key maker.pem\n\n" +
        "The line on stdout goes below trust.upgrades in the settings of each appliance. Who has the file can hand out\n" +
        "versions to all of them: keep it off the appliances.",
    )
    .action((file: string) => {
      if (!existsSync(file)) makeKey(file);
      terminal.out(upgradePublicKeyOf(read(file)));
      terminal.err(`  It goes below trust.upgrades in the settings of each appliance; ${file} stays with you.`);
    });
  program
    .command("upgrade-pack")
    .description("Make a signed upgrade of a built version, for those who hand out versions.")
    .argument("<folder>", "the version, built: package.json, dist, node_modules …")
    .requiredOption("--key <file>", "private key (PEM, Ed25519), as `upgrade-key` makes it")
    .requiredOption("--to <file>", "upgrade to be made (.tgz)")
    .addHelpText(
      "after",
      "\nExample:\n  carillon upgrade-pack . --key maker.pem --to carillon-0.2.0.tgz\n\n" +
        "Its version is that of package.json. What is below a folder .git, data of appliances and files\n" +
        "that are a private key or a secret key are left out.",
    )
    .action(async (folder: string, { key, to }: { key: string; to: string }) => {
      for (const part of ["package.json", "dist/src/main.js"])
        if (!existsSync(join(folder, part))) throw notBuilt(folder, part);
      if (!existsSync(dirname(to))) throw new CallerError("invalid-value", `There is no folder ${dirname(to)}.`);
      const pem = read(key);
      const { version, files } = await packUpgrade(folder, pem, to);
      terminal.out(`${to}: ${version}, ${Object.keys(files).length} files`);
      terminal.err(`  Appliances take it whose settings have ${upgradePublicKeyOf(pem)} below trust.upgrades.`);
    });
}

function makeKey(file: string): void {
  if (!existsSync(dirname(file))) throw new CallerError("invalid-value", `There is no folder ${dirname(file)}.`);
  const { privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600, flag: "wx", flush: true });
}

function notBuilt(folder: string, part: string): CallerError {
  return new CallerError(
    "invalid-value",
    `${folder} is no built version: ${part} is missing. npm run build makes one.`,
  );
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new CallerError("invalid-value", `${path} can't be read.`);
  }
}
