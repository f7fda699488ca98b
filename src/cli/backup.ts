import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { BackupReport } from "../ops/backup/backup-archive.ts";
import { requireDatabase } from "../wiring/require-database.ts";
import type { RestoreOptions } from "../wiring/restore.ts";
import { runControlCommand } from "../wiring/run-control-command.ts";

const ABOUT_KEY =
  "The secret key is NOT in a backup, so that a stolen backup does not give away passwords: export the key once with\n" +
  "`carillon key export` and store it elsewhere. Backups also contain neither TLS keys nor the log.";

const NO_KEY = "The data directory has no secret key: the service gets the key as a systemd credential; use that file.";

/** `carillon backup | verify | restore | key export`. */
export function addBackup(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addTake(program, terminal);
  addVerify(program, terminal, finish);
  addRestore(program, terminal);
  addKey(program, terminal);
}

/** Response of the backup commands; poll until `finished`. */
interface Progress {
  finished: boolean;
  report?: BackupReport;
}

function addTake(program: Command, terminal: Terminal): void {
  program
    .command("backup")
    .description("Take a backup of database, files and plugins and verify it; works while the daemon runs.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--to <folder>", "target folder; default: the one in the settings. The daemon, if it runs, writes the file")
    .option(
      "--scheduled",
      "for timers: later scheduled backups in the folder replace it as backups.keepDays and keepWeeks say; nothing deletes others",
    )
    .option("--json", "print one line of JSON")
    .addHelpText("after", `\nExample:\n  carillon backup --data data --to /mnt/backups\n\n${ABOUT_KEY}`)
    .action(async ({ data, to, scheduled, json }: { data: string; to?: string; scheduled?: true; json?: true }) => {
      const args = { ...(to === undefined ? {} : { to: resolve(to) }), ...(scheduled ? { scheduled } : {}) };
      const report = await takeAndAwaitBackup(
        (command, more) => runControlCommand(data, command, more, systemClock),
        args,
      );
      if (json) return terminal.out(JSON.stringify(summarizeReport(report)));
      terminal.out(report.path);
      terminal.err(`${describeReport(report)}. ${ABOUT_KEY}`);
    });
}

/** Starts a backup and waits until it is written and verified. */
export async function takeAndAwaitBackup(
  order: (name: string, args: Record<string, unknown>) => Promise<unknown>,
  args: { to?: string; scheduled?: true } = {},
): Promise<BackupReport> {
  let progress = (await order("backup.take", args)) as Progress;
  while (!progress.finished) progress = (await order("backup.wait", {})) as Progress;
  return progress.report as BackupReport;
}

function addVerify(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("verify")
    .description("Unpack a backup to a temporary folder, check all of it and report what is damaged.")
    .argument("<file>", "backup file")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon verify /mnt/backups/carillon-2026-11-22T013000Z.tar")
    .action(async (file: string, { json }: { json?: true }) => {
      const { verifyBackup } = await import("../ops/backup/take-backup.ts");
      const workDir = mkdtempSync(join(tmpdir(), "carillon-verify-"));
      try {
        const report = await verifyBackup(file, workDir);
        terminal.out(json ? JSON.stringify(summarizeReport(report)) : `${describeReport(report)}.`);
        for (const error of json ? [] : report.faults) terminal.err(`damaged: ${error}`);
        finish(report.faults.length === 0 ? EXIT.ok : EXIT.failure);
      } finally {
        rmSync(workDir, { recursive: true, force: true });
      }
    });
}

function addRestore(program: Command, terminal: Terminal): void {
  program
    .command("restore")
    .description(
      "Replace the data directory by a backup; stop the daemon first. The old data are kept in a separate folder.",
    )
    .argument("<file>", "backup file")
    .requiredOption("--data <dir>", "data directory of the appliance; created if missing")
    .option("--key <file>", "secret key, as written by `key export`; default: the key in the data directory")
    .option(
      "--without-key",
      "continue without the matching key: passwords of plugins and webhooks must be entered again",
    )
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  systemctl stop carillon\n  carillon restore carillon-2026-11-22T013000Z.tar --data /var/lib/carillon\n\n" +
        "The backup is verified before anything changes; a backup of a newer Carillon version is refused. Messages that\n" +
        "were in progress when the backup was taken are ended and not sent again.",
    )
    .action(async (file: string, options: { data: string; key?: string; withoutKey?: true; json?: true }) => {
      const { restoreBackup } = await import("../wiring/restore.ts");
      const order: RestoreOptions = { file, dataDir: resolve(options.data), clock: systemClock };
      if (options.key !== undefined) order.keyFile = options.key;
      const restored = await restoreBackup({ ...order, withoutKey: options.withoutKey === true });
      if (options.json) return terminal.out(JSON.stringify(restored));
      terminal.out(`Restored the backup of ${restored.takenAt} to ${options.data}.`);
      if (restored.ended > 0) terminal.err(`${restored.ended} messages in progress were ended.`);
      if (restored.aside !== null)
        terminal.err(`The previous data are in ${restored.aside}; delete them once the appliance works.`);
      terminal.err(`  Start the daemon: systemctl start carillon, or carillon serve --data ${options.data}`);
    });
}

function addKey(program: Command, terminal: Terminal): void {
  const key = program
    .command("key")
    .description("Export the secret key that encrypts the passwords of plugins, call managers and webhooks.")
    .addHelpText("after", "\nExample:\n  carillon key export --data data --to /mnt/safe/carillon-secret-key");
  key
    .command("export")
    .description("Write the secret key to a new file, for restoring on another machine.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .requiredOption("--to <file>", "file to create, readable by you only")
    .addHelpText(
      "after",
      "\nExample:\n  carillon key export --data data --to /mnt/safe/carillon-secret-key\n\n" +
        "Store it apart from the backups: a backup together with the key reveals every password the appliance stores.",
    )
    .action(async ({ data, to }: { data: string; to: string }) => {
      const { keyFingerprint, readKeyFile } = await import("../store/secrets.ts");
      requireDatabase(data);
      const kept = join(data, "secret-key");
      if (!existsSync(kept)) throw new UpstreamError("starting", NO_KEY, { dataDir: data });
      const secret = readKeyFile(kept);
      try {
        writeFileSync(to, secret, { mode: 0o600, flag: "wx", flush: true });
      } catch (error) {
        const code = (error as { code?: string }).code;
        if (code === "EEXIST") throw new CallerError("invalid-value", `${to} already exists; nothing was written.`);
        if (code === "ENOENT") throw new CallerError("invalid-value", `Folder ${dirname(to)} not found.`);
        throw error;
      }
      terminal.out(`Wrote the key ${keyFingerprint(secret)} to ${to}.`);
    });
}

/** The report without its file list, which may be long. */
function summarizeReport({ path, bytes, faults, manifest }: BackupReport): object {
  const { files, takenAt, version, keyFingerprint: key } = manifest;
  return { path, bytes, takenAt, version, keyFingerprint: key, files: files.length, faults };
}

function describeReport({ path, bytes, faults, manifest }: BackupReport): string {
  const rows = Object.values(manifest.rows).reduce((sum, each) => sum + each, 0);
  const what = `${(bytes / 1_048_576).toFixed(1)} MiB, ${manifest.files.length} files, ${rows} rows`;
  if (faults.length > 0) return `${path} is damaged: ${faults.length} errors`;
  return `Verified: ${what}, encrypted with key ${manifest.keyFingerprint}`;
}
