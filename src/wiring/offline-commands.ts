import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { productVersion } from "../lib/product-version.ts";
import type { BackupReport } from "../ops/backup/backup-archive.ts";
import { takeBackup } from "../ops/backup/take-backup.ts";
import {
  type ApplianceData,
  isInitialized,
  notInitializedError,
  openApplianceDataOffline,
  requireDatabase,
} from "./appliance-data.ts";
import { createBackupCommands } from "./backup-commands.ts";
import { createControlCommands } from "./control-commands.ts";
import { sendControlCommand } from "./control-socket.ts";

/**
 * Carries out an order on the appliance in `dataDir`: by its daemon when one runs, else on the data itself. Throws
 * CallerError for what is refused, UpstreamError (about the data directory) when there is no appliance or it is in use.
 */
export async function runControlCommand(
  dataDir: string,
  order: string,
  args: Record<string, unknown>,
  clock: Clock,
): Promise<unknown> {
  requireDatabase(dataDir);
  const answered = await sendControlCommand(dataDir, { order, args });
  return answered ? answered.result : runOffline(dataDir, order, args, clock);
}

async function runOffline(
  dataDir: string,
  order: string,
  args: Record<string, unknown>,
  clock: Clock,
): Promise<unknown> {
  const data = await openApplianceDataOffline(dataDir, clock);
  try {
    if (!isInitialized(data.store)) throw notInitializedError(dataDir);
    const orders = { ...createControlCommands(data), ...createBackupCommands(takeOfflineBackup(data, dataDir, clock)) };
    return await orders[order]?.(args);
  } finally {
    await data.close();
  }
}

function takeOfflineBackup(
  { store }: ApplianceData,
  dataDir: string,
  clock: Clock,
): (to?: string) => Promise<BackupReport> {
  return (to) =>
    takeBackup(to ?? join(dataDir, "backups"), { store, dataDir, version: productVersion(), now: clock.now() });
}
