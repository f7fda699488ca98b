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
import type { DaemonModule } from "./lifecycle.ts";

export interface ImporterDeps extends Pick<CallManagerDeps, "clock" | "events" | "log" | "endpointId" | "schedule"> {
  data: Pick<ApplianceData, "store" | "access" | "catalogue">;
  dataDir: string;
  settings: Settings;
  zoneFolders: ZoneDataOptions;
  /** Time zone of the appliance. */
  ownZone(): string;
  ssrfGuard: SsrfGuard;
}

/** Everything that imports rows in bulk. */
export interface Importers {
  bulkUploads: BulkUploadService;
  loaders: LoadService;
  phoneCache: PhoneCache;
  /** In the order of their start. */
  modules: readonly DaemonModule[];
}

/** Bulk uploads and load definitions, which run one at a time, and the import of call manager phones. */
export function createImporters({ data, dataDir, settings, ...deps }: ImporterDeps): Importers {
  const { store, access, catalogue } = data;
  const { clock, events, log, endpointId, schedule, zoneFolders, ownZone, ssrfGuard } = deps;
  const queueDeps = { store, clock, log, queue: createImportQueue(), system: access.systemContext("loaders") };
  const bulkUploads = createBulkUploadService({ ...queueDeps, catalogue, endpointId });
  const loadsDir = join(dataDir, "loads");
  const loaders = createLoadService({ ...queueDeps, events, schedule, loadsDir, zoneFolders, ownZone, ssrfGuard });
  const by = access.systemContext("call-manager");
  const phoneCache = createCallManagers({ ...deps, store, settings, schedule, by });
  const modules = [
    { name: "bulk uploads", start: bulkUploads.start, stop: bulkUploads.stop },
    { name: "loaders", start: loaders.start, stop: loaders.stop },
    { name: "phone cache", start: phoneCache.start, stop: phoneCache.stop },
  ];
  return { bulkUploads, loaders, phoneCache, modules };
}
