import { join } from "node:path";
import type { PhoneCache } from "../call-manager/phone-cache.ts";
import { type BulkUploadService, createBulkUploadService } from "../importers/bulk-upload-service.ts";
import { createImportQueue } from "../importers/import-queue.ts";
import { createLoadService, type LoadService } from "../importers/load-service.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import type { Settings } from "../settings/schema.ts";
import type { ZoneDataOptions } from "../time-zones/zone-data.ts";
import type { ApplianceData } from "./appliance-data.ts";
import { type CallManagerDeps, createCallManagers } from "./call-managers.ts";

export interface ImporterDeps extends Pick<CallManagerDeps, "clock" | "events" | "log" | "endpointId" | "schedule"> {
  data: Pick<ApplianceData, "store" | "access" | "catalogue">;
  dataDir: string;
  settings: Settings;
  zoneFolders: ZoneDataOptions;
  /** Time zone of the appliance. */
  ownZone(): string;
  ssrfGuard: SsrfGuard;
  /** Registers a shutdown step; called before the part starts. */
  onStop(name: string, stop: () => unknown): void;
}

/** Everything that imports rows in bulk. */
export interface Importers {
  bulkUploads: BulkUploadService;
  loaders: LoadService;
  phoneCache: PhoneCache;
}

/** Starts bulk uploads and load definitions, which run one at a time, and the import of call manager phones. */
export async function startImporters({ data, dataDir, settings, onStop, ...deps }: ImporterDeps): Promise<Importers> {
  const { store, access, catalogue } = data;
  const { clock, events, log, endpointId, schedule, zoneFolders, ownZone, ssrfGuard } = deps;
  const queueDeps = { store, clock, log, queue: createImportQueue(), system: access.systemContext("loaders") };
  const bulkUploads = createBulkUploadService({ ...queueDeps, catalogue, endpointId });
  onStop("bulk uploads", bulkUploads.stop);
  await bulkUploads.start();
  const loadsDir = join(dataDir, "loads");
  const loaders = createLoadService({ ...queueDeps, events, schedule, loadsDir, zoneFolders, ownZone, ssrfGuard });
  onStop("loaders", loaders.stop);
  await loaders.start();
  const by = access.systemContext("call-manager");
  const phoneCache = createCallManagers({ ...deps, store, settings, schedule, by });
  onStop("phone cache", phoneCache.stop);
  await phoneCache.start();
  return { bulkUploads, loaders, phoneCache };
}
