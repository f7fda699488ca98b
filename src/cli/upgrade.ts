import { resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import { runControlCommand } from "../wiring/run-control-command.ts";
import { daemonStateOf } from "./doctor.ts";
import { readSettings } from "./settings.ts";

interface UpgradeArguments {
  data: string;
  root: string;
  config?: string;
  unit: string;
  ordered?: true;
  installed?: string;
  placeOnly?: true;
  json?: true;
}

/** `carillon upgrade FILE`, `carillon upgrade-rollback` and `carillon upgrade-offer FILE`. */
export function addUpgrade(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("upgrade")
    .description(
      "Install a signed version beside the running one, switch to it, and roll back automatically if it is unhealthy.",
    )
    .argument("[file]", "upgrade file, signed by a key in trust.upgrades of the settings")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--root <dir>", "folder with versions/ and the link current", "/opt/carillon-versions")
    .option("--config <file>", "settings file (YAML)")
    .option("--unit <name>", "systemd service of the daemon", "carillon")
    .option("--ordered", "install the upgrade requested through the API or the cloud, if any, instead of a file")
    .option("--installed <folder>", "switch to the version that a package installed in this folder, instead of a file")
    .option(
      "--place-only",
      "with --installed: make that version current without starting it; the daemon must be stopped",
    )
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon upgrade carillon-0.2.0.tgz --data /var/lib/carillon --config /etc/carillon/carillon.yaml\n\n" +
        "The service runs from <root>/current. A backup is taken first. The new version must become healthy within a minute and\n" +
        "stay so for ten seconds; otherwise the old version is started again, with the data of the backup if the new one changed\n" +
        "them, and the exit code is 1. carillon-upgrade.path of systemd/ runs this command with --ordered on request.",
    )
    .action(async (file: string | undefined, given: UpgradeArguments) => {
      const { data, root, config, unit, ordered, installed, placeOnly, json } = given;
      const { installPackagedVersion, installRequestedUpgrade, installUpgrade, placeVersion } = await import(
        "../wiring/install-upgrade.ts"
      );
      if ([file, ordered, installed].filter((each) => each !== undefined).length !== 1)
        throw new CallerError("invalid-value", "Give either the upgrade file, --ordered or --installed.");
      if (installed === undefined && placeOnly)
        throw new CallerError("invalid-value", "--place-only needs --installed with the folder of the version.");
      if (installed !== undefined && placeOnly) {
        if (await daemonStateOf(data))
          throw new ConflictError("A daemon runs on these data: leave out --place-only to upgrade it.");
        process.umask(0o022);
        terminal.out(`${placeVersion(installed, root)} is current.`);
        return finish(EXIT.ok);
      }
      const settings = await readSettings(terminal, config);
      if (typeof settings === "number") return finish(settings);
      // root unpacks the files; the daemon's user must be able to read them.
      process.umask(0o022);
      const keys = settings.trust.upgrades;
      if (file !== undefined && keys.length === 0) throw new CallerError("invalid-value", noKey(config));
      const { systemdService } = await import("./systemd-service.ts");
      const service = systemdService(data, unit);
      const options = { root, keys, service, clock: systemClock, say: terminal.err };
      const done =
        file !== undefined
          ? await installUpgrade({ ...options, file })
          : installed !== undefined
            ? await installPackagedVersion(installed, options)
            : await installRequestedUpgrade(data, options);
      if (done === null) return finish(EXIT.ok);
      terminal.out(json ? JSON.stringify(done) : `${done.rolledBack ? done.from : done.to} is running.`);
      finish(done.rolledBack ? EXIT.failure : EXIT.ok);
    });
  program
    .command("upgrade-rollback")
    .description("Return to the version before the last upgrade, on the present data where that version can use them.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--root <dir>", "folder with versions/ and the link current", "/opt/carillon-versions")
    .option("--unit <name>", "systemd service of the daemon", "carillon")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon upgrade-rollback --data /var/lib/carillon\n\n" +
        "A backup of the present data is taken first. An upgrade can be undone until the next one.",
    )
    .action(async ({ data, root, unit, json }: RollbackArguments) => {
      const { undoUpgrade } = await import("../wiring/install-upgrade.ts");
      const { systemdService } = await import("./systemd-service.ts");
      const service = systemdService(data, unit);
      const done = await undoUpgrade({ root, service, clock: systemClock, say: terminal.err });
      terminal.out(json ? JSON.stringify(done) : `${done.to} is running.`);
      finish(EXIT.ok);
    });
  program
    .command("upgrade-offer")
    .description("Provide a signed version; at a cloud, for all its appliances with a requested upgrade.")
    .argument("<file>", "upgrade file, signed by a key in trust.upgrades of the settings and readable by the daemon")
    .requiredOption("--data <dir>", "data directory of the cloud or the appliance; its daemon must run")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon upgrade-offer carillon-0.2.0.tgz --data /var/lib/carillon")
    .action(async (file: string, { data, json }: { data: string; json?: true }) => {
      const offered = await runControlCommand(data, "upgrade.offer", { file: resolve(file) }, systemClock);
      terminal.out(json ? JSON.stringify(offered) : `${(offered as { version: string }).version} is available.`);
      finish(EXIT.ok);
    });
}

type RollbackArguments = Pick<UpgradeArguments, "data" | "root" | "unit" | "json">;

function noKey(config: string | undefined): string {
  const where = config ?? "the settings file, which --config names,";
  return `No trusted upgrade keys: add the public key printed by carillon upgrade-key to trust.upgrades in ${where}.`;
}
