import { join } from "node:path";
import type { PhoneCache } from "../call-manager/phone-cache.ts";
import { type BulkUploads, createBulkUploads } from "../loaders/bulk-uploads.ts";
import { cronSchedule } from "../loaders/cron.ts";
import { createLoaders, type Loaders } from "../loaders/load-definitions.ts";
import { createTurns } from "../loaders/turns.ts";
import type { Settings } from "../settings/schema.ts";
import type { ApplianceData } from "./appliance.ts";
import { type CallManagerNeeds, createCallManagers } from "./call-managers.ts";

/** What rows are brought in with. */
export interface LoadingNeeds extends Pick<CallManagerNeeds, "clock" | "events" | "log" | "endpointId"> {
  data: Pick<ApplianceData, "store" | "access" | "catalogue">;
  dataDir: string;
  settings: Settings;
  /** Says how each is ended, before it starts. */
  end(name: string, stop: () => unknown): void;
}

/** All that brings rows in by the table. */
export interface Loading {
  bulkUploads: BulkUploads;
  loaders: Loaders;
  phoneCache: PhoneCache;
}

/** Starts uploads, loads from other systems, one of both at a time, and the reading of call managers' phones. */
export async function startLoading({ data, dataDir, settings, end, ...needs }: LoadingNeeds): Promise<Loading> {
  const { store, access, catalogue } = data;
  const { clock, events, log, endpointId } = needs;
  const inTurn = { store, clock, log, turns: createTurns(), system: access.systemBy("loaders") };
  const bulkUploads = createBulkUploads({ ...inTurn, catalogue, endpointId });
  end("uploads", bulkUploads.stop);
  await bulkUploads.start();
  const loadsDir = join(dataDir, "loads");
  const loaders = createLoaders({ ...inTurn, events, schedule: cronSchedule, loadsDir });
  end("loaders", loaders.stop);
  await loaders.start();
  const by = access.systemBy("call-manager");
  const phoneCache = createCallManagers({ ...needs, store, settings, schedule: cronSchedule, by });
  end("phone cache", phoneCache.stop);
  await phoneCache.start();
  return { bulkUploads, loaders, phoneCache };
}
