import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { keyFingerprint, readKeyFile } from "../store/secrets.ts";
import { installRequestedUpgrade, installUpgrade, type ServiceControl } from "../wiring/install-upgrade.ts";
import { runControlCommand } from "../wiring/offline-commands.ts";
import { needsNewerVersion, restoreBackup } from "../wiring/restore.ts";
import { takeAndAwaitBackup } from "./backup.ts";
import { daemonStateOf } from "./doctor.ts";
import { EXIT } from "./exit-codes.ts";
import { readSettings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

interface UpgradeArguments {
  data: string;
  root: string;
  config?: string;
  unit: string;
  ordered?: true;
  json?: true;
}

const run = promisify(execFile);

/** `carillon upgrade FILE` and `carillon upgrade-offer FILE`. */
export function addUpgrade(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("upgrade")
    .description(
      "Install a signed version beside the running one, switch over, and go back by itself if it is not well.",
    )
    .argument("[file]", "upgrade, signed by one of trust.upgrades of the settings")
    .requiredOption("--data <dir>", "the appliance's data")
    .option("--root <dir>", "folder with versions/ and the link current", "/opt/carillon-versions")
    .option("--config <file>", "settings file (YAML)")
    .option("--unit <name>", "systemd service of the daemon", "carillon")
    .option("--ordered", "the one that was ordered through the API or the cloud, if there is one, instead of a file")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon upgrade carillon-0.2.0.tgz --data /var/lib/carillon --config /etc/carillon/carillon.yaml\n\n" +
        "The service runs from <root>/current. A backup is taken first; a version that is not well within a minute, and\n" +
        "for ten seconds, makes way for the old one, which gets the data of the backup if the new one has changed them.\n" +
        "Exit code 1 then. carillon-upgrade.path of systemd/ runs it with --ordered once somebody orders an upgrade.",
    )
    .action(async (file: string | undefined, { data, root, config, unit, ordered, json }: UpgradeArguments) => {
      if ((file === undefined) === (ordered === undefined))
        throw new CallerError("invalid-value", "Name the upgrade's file, or --ordered.");
      const settings = await readSettings(terminal, config);
      if (typeof settings === "number") return finish(settings);
      // The daemon must be able to read what root unpacks.
      process.umask(0o022);
      const keys = settings.trust.upgrades;
      if (file !== undefined && keys.length === 0) throw new CallerError("invalid-value", noKey(config));
      const service = systemdService(data, unit);
      const options = { root, keys, service, clock: systemClock, say: terminal.err };
      const done =
        file === undefined ? await installRequestedUpgrade(data, options) : await installUpgrade({ ...options, file });
      if (done === null) return finish(EXIT.ok);
      terminal.out(json ? JSON.stringify(done) : `${done.rolledBack ? done.from : done.to} runs.`);
      finish(done.rolledBack ? EXIT.failure : EXIT.ok);
    });
  program
    .command("upgrade-offer")
    .description("Lay a signed version ready: at a cloud for all its appliances that are ordered to upgrade.")
    .argument("<file>", "upgrade, signed by one of trust.upgrades of the settings; the daemon must be able to read it")
    .requiredOption("--data <dir>", "data of the cloud, or of the appliance; its daemon runs")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon upgrade-offer carillon-0.2.0.tgz --data /var/lib/carillon")
    .action(async (file: string, { data, json }: { data: string; json?: true }) => {
      const offered = await runControlCommand(data, "upgrade.offer", { file: resolve(file) }, systemClock);
      terminal.out(json ? JSON.stringify(offered) : `${(offered as { version: string }).version} lies ready.`);
      finish(EXIT.ok);
    });
}

function noKey(config: string | undefined): string {
  const where = config ?? "the settings file, which --config names,";
  return `No maker of upgrades is trusted: name the public key that carillon upgrade-key tells in ${where} below trust.upgrades.`;
}

/** The service that systemd runs as `unit`. */
export function systemdService(dataDir: string, unit: string): ServiceControl {
  const systemctl = async (...words: string[]): Promise<void> => void (await run("systemctl", words));
  const credential = credentialOf(unit);
  return {
    requireSupervised: () =>
      systemctl("cat", unit).catch((error: unknown) => Promise.reject(unsupervisedError(unit, error))),
    restart: () => systemctl("restart", "--no-block", unit),
    stop: () => systemctl("stop", unit),
    start: () => systemctl("start", "--no-block", unit),
    state: () => daemonStateOf(dataDir),
    async backup() {
      const { path, manifest } = await takeAndAwaitBackup((order, args) =>
        runControlCommand(dataDir, order, args, systemClock),
      );
      const own = join(dataDir, "secret-key");
      const key = credential ?? (existsSync(own) ? readKeyFile(own) : null);
      if (key !== null && keyFingerprint(key) === manifest.keyFingerprint) return path;
      throw new UpstreamError("starting", "The secret key can't be read here, and without it there is no way back.");
    },
    needsNewerVersion: async () => needsNewerVersion(dataDir),
    async restore(file) {
      await restoreBackup({ file, dataDir, clock: systemClock, ...(credential && { credential }) });
    },
  };
}

function unsupervisedError(unit: string, cause: unknown): UpstreamError {
  const words = `systemd knows no service "${unit}" that could start the new version: nothing was changed. Name the service with --unit, or install it as the README says. Without systemd take a backup, end the daemon, and start the new version on the same data.`;
  return new UpstreamError("starting", words, {}, cause);
}

/** The secret key where it is a credential of the running service; null where it lies with the data. @source systemd.exec(5) */
function credentialOf(unit: string): Buffer | null {
  const path = join("/run/credentials", /\.service$/.test(unit) ? unit : `${unit}.service`, "secret-key");
  return existsSync(path) ? readKeyFile(path) : null;
}
