import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import { keyFingerprint, readKeyFile } from "../store/secrets.ts";
import { installRequestedUpgrade, installUpgrade, type ServiceControl } from "../wiring/install-upgrade.ts";
import { runControlCommand } from "../wiring/offline-commands.ts";
import { needsNewerVersion, restoreBackup } from "../wiring/restore.ts";
import { takeAndAwaitBackup } from "./backup.ts";
import { daemonStateOf } from "./doctor.ts";
import { readSettings } from "./settings.ts";

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
      "Install a signed version beside the running one, switch to it, and roll back automatically if it is unhealthy.",
    )
    .argument("[file]", "upgrade file, signed by a key in trust.upgrades of the settings")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--root <dir>", "folder with versions/ and the link current", "/opt/carillon-versions")
    .option("--config <file>", "settings file (YAML)")
    .option("--unit <name>", "systemd service of the daemon", "carillon")
    .option("--ordered", "install the upgrade requested through the API or the cloud, if any, instead of a file")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon upgrade carillon-0.2.0.tgz --data /var/lib/carillon --config /etc/carillon/carillon.yaml\n\n" +
        "The service runs from <root>/current. A backup is taken first. The new version must become healthy within a minute and\n" +
        "stay so for ten seconds; otherwise the old version is started again, with the data of the backup if the new one changed\n" +
        "them, and the exit code is 1. carillon-upgrade.path of systemd/ runs this command with --ordered on request.",
    )
    .action(async (file: string | undefined, { data, root, config, unit, ordered, json }: UpgradeArguments) => {
      if ((file === undefined) === (ordered === undefined))
        throw new CallerError("invalid-value", "Give either the upgrade file or --ordered.");
      const settings = await readSettings(terminal, config);
      if (typeof settings === "number") return finish(settings);
      // root unpacks the files; the daemon's user must be able to read them.
      process.umask(0o022);
      const keys = settings.trust.upgrades;
      if (file !== undefined && keys.length === 0) throw new CallerError("invalid-value", noKey(config));
      const service = systemdService(data, unit);
      const options = { root, keys, service, clock: systemClock, say: terminal.err };
      const done =
        file === undefined ? await installRequestedUpgrade(data, options) : await installUpgrade({ ...options, file });
      if (done === null) return finish(EXIT.ok);
      terminal.out(json ? JSON.stringify(done) : `${done.rolledBack ? done.from : done.to} is running.`);
      finish(done.rolledBack ? EXIT.failure : EXIT.ok);
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

function noKey(config: string | undefined): string {
  const where = config ?? "the settings file, which --config names,";
  return `No trusted upgrade keys: add the public key printed by carillon upgrade-key to trust.upgrades in ${where}.`;
}

/** Controls the systemd service `unit`. */
export function systemdService(dataDir: string, unit: string): ServiceControl {
  const systemctl = async (...args: string[]): Promise<void> => void (await run("systemctl", args));
  const credential = credentialOf(unit);
  return {
    requireSupervised: () =>
      systemctl("cat", unit).catch((error: unknown) => Promise.reject(unsupervisedError(unit, error))),
    restart: () => systemctl("restart", "--no-block", unit),
    stop: () => systemctl("stop", unit),
    start: () => systemctl("start", "--no-block", unit),
    state: () => daemonStateOf(dataDir),
    async backup() {
      const { path, manifest } = await takeAndAwaitBackup((command, args) =>
        runControlCommand(dataDir, command, args, systemClock),
      );
      const keyFile = join(dataDir, "secret-key");
      const key = credential ?? (existsSync(keyFile) ? readKeyFile(keyFile) : null);
      if (key !== null && keyFingerprint(key) === manifest.keyFingerprint) return path;
      throw new UpstreamError(
        "starting",
        "The secret key can't be read; without it a rollback is impossible, so the upgrade was not started.",
      );
    },
    needsNewerVersion: async () => needsNewerVersion(dataDir),
    async restore(file) {
      await restoreBackup({ file, dataDir, clock: systemClock, ...(credential && { credential }) });
    },
  };
}

function unsupervisedError(unit: string, cause: unknown): UpstreamError {
  const message = `systemd service "${unit}" not found; nothing was changed. Name the service with --unit, or install it as described in the README. Without systemd: take a backup, stop the daemon and start the new version on the same data.`;
  return new UpstreamError("starting", message, {}, cause);
}

/** The secret key if the running service gets it as a credential; null if it is in the data directory. @source systemd.exec(5) */
function credentialOf(unit: string): Buffer | null {
  const path = join("/run/credentials", /\.service$/.test(unit) ? unit : `${unit}.service`, "secret-key");
  return existsSync(path) ? readKeyFile(path) : null;
}
