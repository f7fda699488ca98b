import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
import { addBackupKey, readIdentities } from "./backup-key.ts";
import { counted } from "./counted.ts";

const ABOUT_KEY =
  "The secret key is NOT in a backup, so that a stolen backup does not give away passwords: export the key once with\n" +
  "`carillon key export` and store it elsewhere. Backups also contain neither TLS keys nor the log.";

const NO_KEY = "The data directory has no secret key: the service gets the key as a systemd credential; use that file.";

const PENDING_ROTATION =
  "A rotation of the secret key was interrupted. Start the daemon, or run carillon key rotate again; then export the key.";

const IDENTITY_HELP = "file with the identity of an encrypted backup, as printed by `carillon backup key create`";

/** `carillon backup | verify | restore | key`. */
export function addBackup(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addBackupKey(addTake(program, terminal), terminal, finish);
  addVerify(program, terminal, finish);
  addRestore(program, terminal);
  addKey(program, terminal);
}

/** Response of the backup commands; poll until `finished`. */
interface Progress {
  finished: boolean;
  report?: BackupReport;
}

function addTake(program: Command, terminal: Terminal): Command {
  const backup = program
    .command("backup")
    .description("Take a backup of database, files and plugins and verify it; works while the daemon runs.")
    // Not required by commander, which would require it of `backup key create` as well.
    .option("--data <dir>", "data directory of the appliance; required")
    .option("--to <folder>", "target folder; default: the one in the settings. The daemon, if it runs, writes the file")
    .option(
      "--scheduled",
      "for timers: later scheduled backups in the folder replace it as backups.keepDays and keepWeeks say; nothing deletes others",
    )
    .option("--json", "print one line of JSON")
    .addHelpText("after", `\nExample:\n  carillon backup --data data --to /mnt/backups\n\n${ABOUT_KEY}`)
    .action(async ({ data, to, scheduled, json }: { data?: string; to?: string; scheduled?: true; json?: true }) => {
      if (data === undefined) return backup.error("error: required option '--data <dir>' not specified");
      const args = { ...(to === undefined ? {} : { to: resolve(to) }), ...(scheduled ? { scheduled } : {}) };
      const report = await takeAndAwaitBackup(
        (command, more) => runControlCommand(data, command, more, systemClock),
        args,
      );
      if (json) return terminal.out(JSON.stringify(summarizeReport(report)));
      terminal.out(report.path);
      terminal.err(`${describeReport(report)}. ${ABOUT_KEY}`);
    });
  return backup;
}

/** Starts a backup and waits until it is written and verified. */
export async function takeAndAwaitBackup(
  order: (name: string, args: Record<string, unknown>) => Promise<unknown>,
  args: { to?: string; scheduled?: true; forUpgrade?: true } = {},
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
    .option("--identity <file>", IDENTITY_HELP)
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon verify /mnt/backups/carillon-2026-11-22T013000Z.tar\n\n" +
        "Without the identity, the checksum and the structure of an encrypted backup are checked, not its content.",
    )
    .action(async (file: string, { identity, json }: { identity?: string; json?: true }) => {
      const { verifyBackup } = await import("../ops/backup/take-backup.ts");
      const identities = identity === undefined ? [] : await readIdentities(identity);
      const workDir = mkdtempSync(join(tmpdir(), "carillon-verify-"));
      try {
        const report = await verifyBackup(file, workDir, { identities });
        terminal.out(json ? JSON.stringify(summarizeReport(report)) : `${describeReport(report)}.`);
        for (const error of json ? [] : report.faults) terminal.err(`damaged: ${error}`);
        finish(report.faults.length === 0 ? EXIT.ok : EXIT.failure);
      } finally {
        rmSync(workDir, { recursive: true, force: true });
      }
    });
}

interface RestoreCommandOptions {
  data: string;
  key?: string;
  identity?: string;
  withoutKey?: true;
  json?: true;
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
    .option("--identity <file>", IDENTITY_HELP)
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
    .action(async (file: string, options: RestoreCommandOptions) => {
      const { restoreBackup } = await import("../wiring/restore.ts");
      const order: RestoreOptions = { file, dataDir: resolve(options.data), clock: systemClock };
      if (options.identity !== undefined) order.identities = await readIdentities(options.identity);
      if (options.key !== undefined) order.keyFile = options.key;
      const restored = await restoreBackup({ ...order, withoutKey: options.withoutKey === true });
      if (options.json) return terminal.out(JSON.stringify(restored));
      terminal.out(`Restored the backup of ${restored.takenAt} to ${options.data}.`);
      if (restored.ended > 0)
        terminal.err(`${counted(restored.ended, "message in progress was", "messages in progress were")} ended.`);
      if (restored.aside !== null)
        terminal.err(`The previous data are in ${restored.aside}; delete them once the appliance works.`);
      terminal.err(`  Start the daemon: systemctl start carillon, or carillon serve --data ${options.data}`);
    });
}

function addKey(program: Command, terminal: Terminal): void {
  const key = program
    .command("key")
    .description("Export or replace the secret key that encrypts the passwords of plugins, call managers and webhooks.")
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
      if (existsSync(`${kept}.new`)) throw new UpstreamError("starting", PENDING_ROTATION, { dataDir: data });
      if (!existsSync(kept)) throw new UpstreamError("starting", NO_KEY, { dataDir: data });
      const secret = readKeyFile(kept);
      writeKey(to, secret);
      terminal.out(`Wrote the key ${keyFingerprint(secret)} to ${to}.`);
    });
  addRotate(key, terminal);
}

function addRotate(key: Command, terminal: Terminal): void {
  key
    .command("rotate")
    .description(
      "Replace the secret key by a new one and seal all stored passwords with it; the daemon must be stopped.",
    )
    .requiredOption("--data <dir>", "data directory of the appliance")
    .requiredOption("--old-key-to <file>", "file to create for the old key, which earlier backups need")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon key rotate --data data --old-key-to /mnt/safe/carillon-secret-key-2026\n\n" +
        "A crash leaves the old or the new key in use, never a mixture. Links in messages that were sent before, and log-ins\n" +
        "that are under way, no longer work. If the old key is known to others, change the stored passwords too.",
    )
    .action(async ({ data, oldKeyTo, json }: { data: string; oldKeyTo: string; json?: true }) => {
      const { rotateKey } = await import("../wiring/rotate-key.ts");
      const keep = (old: Buffer): void => keepOldKey(oldKeyTo, old);
      const { before, after, sealed } = await rotateKey(resolve(data), { keep, clock: systemClock });
      if (json) return terminal.out(JSON.stringify({ before, after, sealed }));
      terminal.out(`Replaced the key ${before} by ${after}; ${sealed} secrets are sealed with it.`);
      terminal.err(`Backups taken before now need ${oldKeyTo}, later ones the new key:`);
      terminal.err(`  carillon key export --data ${data} --to FILE`);
    });
}

/** A rotation that was interrupted has written it already. */
function keepOldKey(to: string, old: Buffer): void {
  if (existsSync(to) && readFileSync(to).equals(old)) return;
  writeKey(to, old);
}

function writeKey(to: string, secret: Buffer): void {
  try {
    writeFileSync(to, secret, { mode: 0o600, flag: "wx", flush: true });
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "EEXIST") throw new CallerError("invalid-value", `${to} already exists; nothing was written.`);
    if (code === "ENOENT") throw new CallerError("invalid-value", `Folder ${dirname(to)} not found.`);
    throw error;
  }
}

/** The report without its file list, which may be long. */
function summarizeReport({ path, bytes, faults, manifest, encryption }: BackupReport): object {
  const { files, takenAt, version, keyFingerprint: key } = manifest;
  return {
    path,
    bytes,
    takenAt,
    version,
    keyFingerprint: key,
    files: files.length,
    faults,
    ...(encryption && { encryption }),
  };
}

function describeReport({ path, bytes, faults, manifest, encryption }: BackupReport): string {
  if (faults.length === 0 && encryption === "sealed")
    return `${path} is encrypted and unchanged since it was taken (checksum); its content is checked with --identity FILE`;
  if (faults.length === 0 && encryption === "unlabelled")
    return `${path} is encrypted and has no label: only its structure was checked; its content is checked with --identity FILE`;
  const rows = Object.values(manifest.rows).reduce((sum, each) => sum + each, 0);
  const what = `${(bytes / 1_048_576).toFixed(1)} MiB, ${counted(manifest.files.length, "file")}, ${counted(rows, "row")}`;
  if (faults.length > 0) return `${path} is damaged: ${counted(faults.length, "error")}`;
  return `Verified: ${what}, encrypted with key ${manifest.keyFingerprint}`;
}
