import { join } from "node:path";
import { createNewPasswords } from "../auth/new-passwords.ts";
import type { Clock } from "../lib/clock.ts";
import { silentLog } from "../lib/log.ts";
import { productVersion } from "../lib/product-version.ts";
import { type AuditNotes, createAuditNotes } from "../ops/audit-notes.ts";
import type { BackupReport } from "../ops/backup/backup-archive.ts";
import { takeBackup } from "../ops/backup/take-backup.ts";
import { defaultSettings } from "../settings/schema.ts";
import { type ApplianceData, isInitialized, openApplianceDataOffline } from "./appliance-data.ts";
import { createBackupCommands } from "./backup-commands.ts";
import { createControlCommands } from "./control-commands.ts";
import { notInitializedError } from "./require-database.ts";

/** Runs a control command on the data of an appliance whose daemon does not run; see `runControlCommand`. */
export async function runOfflineCommand(
  dataDir: string,
  command: string,
  args: Record<string, unknown>,
  clock: Clock,
): Promise<unknown> {
  const data = await openApplianceDataOffline(dataDir, clock);
  const settings = defaultSettings().auth;
  const passwords = createNewPasswords(clock, settings.passwordMinLength);
  try {
    if (!isInitialized(data.store)) throw notInitializedError(dataDir);
    const commands = {
      ...createControlCommands({ ...data, passwords, settings, auditNotes: offlineAuditNotes(data, dataDir) }),
      ...createBackupCommands(takeOfflineBackup(data, dataDir, clock)),
    };
    return await commands[command]?.(args);
  } finally {
    await passwords.close();
    await data.close();
  }
}

/** What others keep is not known without the daemon. */
function offlineAuditNotes({ store, clock }: ApplianceData, dataDir: string): Pick<AuditNotes, "collect"> {
  return createAuditNotes({ store, clock, log: silentLog, dataDir, backupFolder: join(dataDir, "backups") });
}

function takeOfflineBackup(
  { store }: ApplianceData,
  dataDir: string,
  clock: Clock,
): (to?: string, isScheduled?: boolean) => Promise<BackupReport> {
  return (to, isScheduled = false) =>
    takeBackup(to ?? join(dataDir, "backups"), {
      ...{ store, dataDir, version: productVersion(), now: clock.now() },
      isScheduled,
    });
}
