import { join } from "node:path";
import type { AccessControl } from "../auth/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { createEvents, type Events } from "../lib/events.ts";
import { type Log, silentLog } from "../lib/log.ts";
import { productVersion } from "../lib/product-version.ts";
import { createRecordingConverter } from "../media/recording-converter.ts";
import { createAccessControl } from "../permissions/access-control.ts";
import { accessHooks } from "../permissions/hooks.ts";
import domains from "../resources/domains/domains.ts";
import { type Catalogue, createCatalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { createDiskReserve, type DiskReserve } from "../store/disk-reserve.ts";
import { openStore } from "../store/open-store.ts";
import type { SharedLog } from "../store/shared-log.ts";
import type { ChangeCapture, InternalTable, ResourceHooks, Store } from "../store/store.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "./load-declarations.ts";

export interface ApplianceDataOptions {
  dataDir: string;
  /** See `StoreOptions`. */
  key?: Buffer;
  declarations: readonly AnyResource[];
  /** Hooks that need nothing of what is opened here. */
  hooks?: Readonly<Record<string, ResourceHooks>>;
  tables?: readonly InternalTable[];
  clock: Clock;
  events: Events;
  log: Log;
  /** See `StoreOptions`. */
  onFatal: (error: unknown) => void;
  /** See `StoreOptions`. */
  shared?: SharedLog;
  /** See `StoreOptions`. */
  isFollower?: boolean;
  /** Reserves disk space for emergencies. */
  keepsDiskReserve?: boolean;
}

/** The data of an appliance, locked by this process until closed. */
export interface ApplianceData {
  catalogue: Catalogue;
  store: Store;
  access: AccessControl;
  clock: Clock;
  /** Captures every write for replication; null unless the daemon is linked. */
  recording: { recorder: ChangeCapture | null };
  /** Adds hooks by resource; must come before the first row is written or presented. */
  bindHooks(hooks: Readonly<Record<string, ResourceHooks>>): void;
  close(): Promise<void>;
}

/** Opens the data in `dataDir`; creates an empty database if there is none. Throws UpstreamError when another process uses it. */
export function openApplianceData(options: ApplianceDataOptions): ApplianceData {
  const catalogue = createCatalogue(options.declarations);
  const recording = { recorder: null };
  const converter = createRecordingConverter(options.clock);
  const reserve = options.keepsDiskReserve ? keepDiskReserve(options) : null;
  const diskReserve = reserve && { diskReserve: reserve };
  const hooks: Record<string, ResourceHooks> = { ...options.hooks };
  const opening = { ...options, hooks, ...diskReserve, catalogue, recording, converter };
  const store = openStore({ version: productVersion(), ...opening });
  const access = createAccessControl({ store, catalogue, clock: options.clock, events: options.events });
  return {
    catalogue,
    store,
    access,
    clock: options.clock,
    recording,
    bindHooks: (more) => void Object.assign(hooks, more),
    async close() {
      reserve?.stop();
      access.close();
      await store.close();
    },
  };
}

/** Enough for messages to several thousand devices with their delivery records. */
const DISK_RESERVE_BYTES = 16 * 1_048_576;
/** Allocated after the start, which needs the disk itself, and checked at this interval. */
const DISK_RESERVE_DELAY_MS = 10_000;
const DISK_RESERVE_CHECK_INTERVAL_MS = 60_000;

function keepDiskReserve({
  dataDir,
  clock,
  log,
}: ApplianceDataOptions): Pick<DiskReserve, "release"> & { stop(): void } {
  const reserve = createDiskReserve(join(dataDir, "spare-reserve"), DISK_RESERVE_BYTES);
  const allocate = (): void => void reserve.allocate();
  const timers = [
    clock.after(DISK_RESERVE_DELAY_MS, allocate, { background: true }),
    clock.every(DISK_RESERVE_CHECK_INTERVAL_MS, allocate),
  ];
  return {
    release() {
      const isFree = reserve.release();
      if (isFree) log.error({ event: "disk.reserve_released" }, "disk full; released the disk reserve");
      return isFree;
    },
    stop() {
      for (const timer of timers) timer.cancel();
    },
  };
}

/** Opens the data like `openApplianceData` for one command while no daemon runs: with permission hooks, without plugins. */
export async function openApplianceDataOffline(
  dataDir: string,
  clock: Clock,
  key?: Buffer,
  tables?: readonly InternalTable[],
): Promise<ApplianceData> {
  const fail = (error: unknown): never => {
    throw error;
  };
  const declarations = await loadDeclarations([BUILT_IN_DECLARATIONS]);
  const catalogue = createCatalogue(declarations);
  const boundHooks = accessHooks(clock, catalogue);
  return openApplianceData({
    dataDir,
    ...(key && { key }),
    ...(tables && { tables }),
    declarations,
    hooks: Object.fromEntries(boundHooks.map(([resource, hooks]) => [resource.name, hooks])),
    clock,
    events: createEvents(fail),
    log: silentLog,
    // The failed write itself is rejected; a single command needs no more.
    onFatal: () => undefined,
  });
}

/** True once `init` has created the root domain. */
export function isInitialized(store: Store): boolean {
  return store.count(domains, { parentId: null }) > 0;
}
