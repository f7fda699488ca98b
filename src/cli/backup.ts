import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import type { BackupReport } from "../ops/backup/backup-archive.ts";
import { verifyBackup } from "../ops/backup/take-backup.ts";
import { keyFingerprint, readKeyFile } from "../store/secrets.ts";
import { requireDatabase } from "../wiring/appliance-data.ts";
import { runControlCommand } from "../wiring/offline-commands.ts";
import { type RestoreOptions, restoreBackup } from "../wiring/restore.ts";
import { EXIT } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

const ABOUT_KEY =
  "The secret key is NOT in a backup, so that who finds one can't read passwords: export it once with\n" +
  "`carillon key export` and keep it elsewhere. Keys of certificates and the log are not in it either.";

const NO_KEY = "The secret key is not in the data directory: it is a credential of the service, whose file you have.";

/** `carillon backup | verify | restore | key export`. */
export function addBackup(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addTake(program, terminal);
  addVerify(program, terminal, finish);
  addRestore(program, terminal);
  addKey(program, terminal);
}

/** What a running backup is asked for until it is done. */
interface Progress {
  finished: boolean;
  report?: BackupReport;
}

function addTake(program: Command, terminal: Terminal): void {
  program
    .command("backup")
    .description("Take a backup of database, files and plugins and prove it; works while the daemon runs.")
    .requiredOption("--data <dir>", "the appliance's data")
    .option("--to <folder>", "where it is put; the settings' folder unless given. A running daemon writes it itself")
    .option("--json", "print one line of JSON")
    .addHelpText("after", `\nExample:\n  carillon backup --data data --to /mnt/backups\n\n${ABOUT_KEY}`)
    .action(async ({ data, to, json }: { data: string; to?: string; json?: true }) => {
      const args = to === undefined ? {} : { to: resolve(to) };
      const report = await takeAndAwaitBackup((order, more) => runControlCommand(data, order, more, systemClock), args);
      if (json) return terminal.out(JSON.stringify(summarizeReport(report)));
      terminal.out(report.path);
      terminal.err(`${describeReport(report)}. ${ABOUT_KEY}`);
    });
}

/** Orders a backup and waits until it is proven. */
export async function takeAndAwaitBackup(
  order: (name: string, args: Record<string, unknown>) => Promise<unknown>,
  args: { to?: string } = {},
): Promise<BackupReport> {
  let progress = (await order("backup.take", args)) as Progress;
  while (!progress.finished) progress = (await order("backup.wait", {})) as Progress;
  return progress.report as BackupReport;
}

function addVerify(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("verify")
    .description("Unpack a backup aside and check all of it; name what is damaged.")
    .argument("<file>", "backup, as `backup` made it")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon verify /mnt/backups/carillon-2026-11-22T013000Z.tar")
    .action(async (file: string, { json }: { json?: true }) => {
      const beside = mkdtempSync(join(tmpdir(), "carillon-verify-"));
      try {
        const report = await verifyBackup(file, beside);
        terminal.out(json ? JSON.stringify(summarizeReport(report)) : `${describeReport(report)}.`);
        for (const fault of json ? [] : report.faults) terminal.err(`damaged: ${fault}`);
        finish(report.faults.length === 0 ? EXIT.ok : EXIT.failure);
      } finally {
        rmSync(beside, { recursive: true, force: true });
      }
    });
}

function addRestore(program: Command, terminal: Terminal): void {
  program
    .command("restore")
    .description("Put a backup in the place of the data; the daemon must not run. What was there is kept aside.")
    .argument("<file>", "backup, as `backup` made it")
    .requiredOption("--data <dir>", "the appliance's data; made when missing")
    .option("--key <file>", "secret key, as `key export` wrote it; that of the data directory unless given")
    .option("--without-key", "go on without the right key: passwords of plugins and webhooks must be entered again")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  systemctl stop carillon\n  carillon restore carillon-2026-11-22T013000Z.tar --data /var/lib/carillon\n\n" +
        "All of it is checked before anything is touched; a backup of a newer Carillon is refused. Messages that were\n" +
        "under way when the backup was taken are ended and not sent again.",
    )
    .action(async (file: string, options: { data: string; key?: string; withoutKey?: true; json?: true }) => {
      const order: RestoreOptions = { file, dataDir: resolve(options.data), clock: systemClock };
      if (options.key !== undefined) order.keyFile = options.key;
      const restored = await restoreBackup({ ...order, withoutKey: options.withoutKey === true });
      if (options.json) return terminal.out(JSON.stringify(restored));
      terminal.out(`The data of ${restored.takenAt} is in ${options.data}.`);
      if (restored.ended > 0) terminal.err(`${restored.ended} messages that were under way were ended.`);
      if (restored.aside !== null) terminal.err(`What was there is in ${restored.aside}; remove it when all is well.`);
      terminal.err(`  Start it: systemctl start carillon, or carillon serve --data ${options.data}`);
    });
}

function addKey(program: Command, terminal: Terminal): void {
  const key = program
    .command("key")
    .description("The secret key, with which passwords of plugins, call managers and webhooks are sealed.")
    .addHelpText("after", "\nExample:\n  carillon key export --data data --to /mnt/safe/carillon-secret-key");
  key
    .command("export")
    .description("Write the secret key to a new file, for a restore on another machine.")
    .requiredOption("--data <dir>", "the appliance's data")
    .requiredOption("--to <file>", "file to be made, readable by you alone")
    .addHelpText(
      "after",
      "\nExample:\n  carillon key export --data data --to /mnt/safe/carillon-secret-key\n\n" +
        "Keep it apart from the backups: both together give away every password that the appliance knows.",
    )
    .action(({ data, to }: { data: string; to: string }) => {
      requireDatabase(data);
      const kept = join(data, "secret-key");
      if (!existsSync(kept)) throw new UpstreamError("starting", NO_KEY, { dataDir: data });
      const secret = readKeyFile(kept);
      try {
        writeFileSync(to, secret, { mode: 0o600, flag: "wx", flush: true });
      } catch (error) {
        const code = (error as { code?: string }).code;
        if (code === "EEXIST") throw new CallerError("invalid-value", `${to} is there already: nothing was written.`);
        if (code === "ENOENT") throw new CallerError("invalid-value", `There is no folder ${dirname(to)}.`);
        throw error;
      }
      terminal.out(`${to} holds the key ${keyFingerprint(secret)}.`);
    });
}

/** The report without the list of files, which may be long. */
function summarizeReport({ path, bytes, faults, manifest }: BackupReport): object {
  const { files, takenAt, version, keyFingerprint: key } = manifest;
  return { path, bytes, takenAt, version, keyFingerprint: key, files: files.length, faults };
}

function describeReport({ path, bytes, faults, manifest }: BackupReport): string {
  const rows = Object.values(manifest.rows).reduce((sum, each) => sum + each, 0);
  const what = `${(bytes / 1_048_576).toFixed(1)} MiB, ${manifest.files.length} files, ${rows} rows`;
  if (faults.length > 0) return `${path} is damaged in ${faults.length} places`;
  return `Proven whole: ${what}, sealed with key ${manifest.keyFingerprint}`;
}
