import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { BackupReport } from "../operations/backup-archive.ts";
import { takeBackup } from "../operations/take-backup.ts";
import { type ApplianceData, isSetUp, notSetUp, openDataOffline, requireDatabase } from "./appliance.ts";
import { createBackupOrders } from "./backup-orders.ts";
import { sendOrder } from "./control-socket.ts";
import { createOrders } from "./orders.ts";
import { ownVersion } from "./version.ts";

/**
 * Carries out an order on the appliance in `dataDir`: by its daemon when one runs, else on the data itself. Throws
 * CallerError for what is refused, UpstreamError (about the data directory) when there is no appliance or it is in use.
 */
export async function giveOrder(
  dataDir: string,
  order: string,
  args: Record<string, unknown>,
  clock: Clock,
): Promise<unknown> {
  requireDatabase(dataDir);
  const answered = await sendOrder(dataDir, { order, args });
  return answered ? answered.result : carryOut(dataDir, order, args, clock);
}

async function carryOut(dataDir: string, order: string, args: Record<string, unknown>, clock: Clock): Promise<unknown> {
  const data = await openDataOffline(dataDir, clock);
  try {
    if (!isSetUp(data.store)) throw notSetUp(dataDir);
    const orders = { ...createOrders(data), ...createBackupOrders(takeOffline(data, dataDir, clock)) };
    return await orders[order]?.(args);
  } finally {
    await data.close();
  }
}

function takeOffline({ store }: ApplianceData, dataDir: string, clock: Clock): (to?: string) => Promise<BackupReport> {
  return (to) =>
    takeBackup(to ?? join(dataDir, "backups"), { store, dataDir, version: ownVersion(), now: clock.now() });
}
