import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import type { HealthSource } from "../health/health.ts";
import { cronSchedule } from "../loaders/cron.ts";
import { createBackups } from "../operations/backups.ts";
import { createEndpointOrders, type OrderType } from "../operations/endpoint-orders.ts";
import { OPERATION_MARKS } from "../operations/marks.ts";
import type { Settings } from "../settings/schema.ts";
import type { ApplianceData } from "./appliance.ts";
import { createBackupOrders } from "./backup-orders.ts";
import type { Order } from "./orders.ts";
import { ownVersion } from "./version.ts";

/** Tables of the room `operations`. */
export const OPERATION_TABLES = [OPERATION_MARKS];

/** What keeps the appliance itself in order. */
export interface OperationNeeds {
  dataDir: string;
  settings: Settings;
  data: ApplianceData;
  clock: Clock;
  events: Events;
  log: Log;
  endpointId(): string;
  onRestart?: () => void;
}

/** Backups, and orders to the appliance. */
export interface Operations {
  /** What of it is not as it should be. */
  source: HealthSource;
  /** What commands may order of it. */
  orders: Readonly<Record<string, Order>>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Orders that nothing on this appliance carries out yet. */
const UNKNOWN: readonly OrderType[] = [];

/** Makes them; nothing runs before `start`. */
export function createOperations(needs: OperationNeeds): Operations {
  const { dataDir, settings, data, clock, events, log, endpointId } = needs;
  const { store, access } = data;
  const common = { store, clock, events, log, endpointId };
  const version = ownVersion();
  const backups = createBackups({ ...common, dataDir, version, settings: settings.backups, schedule: cronSchedule });
  const orders = createEndpointOrders({
    ...common,
    by: access.systemBy("operations"),
    does: {
      backup: async () => {
        const { path, bytes, manifest } = await backups.take();
        return { file: path, bytes, files: manifest.files.length, takenAt: manifest.takenAt };
      },
    },
    unknown: UNKNOWN,
    restart: () => needs.onRestart?.(),
  });
  return {
    source: backups.source,
    orders: createBackupOrders(backups.take, clock),
    async start() {
      await backups.start();
      await orders.start();
    },
    async stop() {
      await Promise.all([backups.stop(), orders.stop()]);
    },
  };
}
