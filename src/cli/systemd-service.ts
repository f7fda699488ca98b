import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemClock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { keyFingerprint, readKeyFile } from "../store/secrets.ts";
import type { ServiceControl } from "../wiring/install-upgrade.ts";
import { needsNewerVersion, restoreBackup } from "../wiring/restore.ts";
import { runControlCommand } from "../wiring/run-control-command.ts";
import { takeAndAwaitBackup } from "./backup.ts";
import { daemonStateOf } from "./doctor.ts";

const run = promisify(execFile);

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
      const { path, manifest } = await takeAndAwaitBackup(
        (command, args) => runControlCommand(dataDir, command, args, systemClock),
        { forUpgrade: true },
      );
      const keyFile = join(dataDir, "secret-key");
      const key = credential ?? (existsSync(keyFile) ? readKeyFile(keyFile) : null);
      if (key !== null && keyFingerprint(key) === manifest.keyFingerprint) return path;
      throw new UpstreamError(
        "starting",
        "The secret key can't be read; without it a rollback is impossible, so the upgrade was not started.",
      );
    },
    needsNewerVersion: async (version) => needsNewerVersion(dataDir, version),
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
