import { join } from "node:path";
import type { PhoneCache } from "../call-manager/phone-cache.ts";
import { type BulkUploadService, createBulkUploadService } from "../importers/bulk-upload-service.ts";
import { cronSchedule } from "../importers/cron-schedule.ts";
import { createLoadService, type LoadService } from "../importers/load-service.ts";
import { createSerialQueue } from "../lib/serial-queue.ts";
import type { Settings } from "../settings/schema.ts";
import type { ApplianceData } from "./appliance-data.ts";
import { type CallManagerDeps, createCallManagers } from "./call-managers.ts";

/** What rows are brought in with. */
export interface ImporterDeps extends Pick<CallManagerDeps, "clock" | "events" | "log" | "endpointId"> {
  data: Pick<ApplianceData, "store" | "access" | "catalogue">;
  dataDir: string;
  settings: Settings;
  /** Says how each is ended, before it starts. */
  onStop(name: string, stop: () => unknown): void;
}

/** All that brings rows in by the table. */
export interface Importers {
  bulkUploads: BulkUploadService;
  loaders: LoadService;
  phoneCache: PhoneCache;
}

/** Starts uploads, loads from other systems, one of both at a time, and the reading of call managers' phones. */
export async function startImporters({ data, dataDir, settings, onStop, ...needs }: ImporterDeps): Promise<Importers> {
  const { store, access, catalogue } = data;
  const { clock, events, log, endpointId } = needs;
  const inTurn = { store, clock, log, queue: createSerialQueue(), system: access.systemContext("loaders") };
  const bulkUploads = createBulkUploadService({ ...inTurn, catalogue, endpointId });
  onStop("uploads", bulkUploads.stop);
  await bulkUploads.start();
  const loadsDir = join(dataDir, "loads");
  const loaders = createLoadService({ ...inTurn, events, schedule: cronSchedule, loadsDir });
  onStop("loaders", loaders.stop);
  await loaders.start();
  const by = access.systemContext("call-manager");
  const phoneCache = createCallManagers({ ...needs, store, settings, schedule: cronSchedule, by });
  onStop("phone cache", phoneCache.stop);
  await phoneCache.start();
  return { bulkUploads, loaders, phoneCache };
}
