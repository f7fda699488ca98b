import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AccessControl } from "../auth/principal.ts";
import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { createEvents, type Events } from "../lib/events.ts";
import { type Log, silentLog } from "../lib/log.ts";
import { productVersion } from "../lib/product-version.ts";
import { createRecordingConverter } from "../media/recording-converter.ts";
import { createAccessControl } from "../permissions/access-control.ts";
import { accessHooks } from "../permissions/hooks.ts";
import domains from "../resources/domains/domains.ts";
import { type Catalogue, createCatalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { assertDataDirectoryReadable } from "../store/data-directory.ts";
import { createDiskReserve, type DiskReserve } from "../store/disk-reserve.ts";
import { openStore } from "../store/open-store.ts";
import type { SharedLog } from "../store/shared-log.ts";
import type { ChangeCapture, InternalTable, ResourceHooks, Store } from "../store/store.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "./load-declarations.ts";
import { completePendingRestore } from "./restore-journal.ts";

/** What the data of an appliance is opened with. */
export interface ApplianceDataOptions {
  dataDir: string;
  /** See `StoreOptions`. */
  key?: Buffer;
  declarations: readonly AnyResource[];
  behaviours: Readonly<Record<string, ResourceHooks>>;
  tables?: readonly InternalTable[];
  clock: Clock;
  events: Events;
  log: Log;
  /** See `StoreOptions`. */
  onFatal: (error: unknown) => void;
  /** See `StoreOptions`. */
  shared?: SharedLog;
  follows?: boolean;
  /** Room on the disk is kept for emergencies. */
  keepsDiskReserve?: boolean;
}

/** The data of an appliance, in use by this process alone until closed. */
export interface ApplianceData {
  catalogue: Catalogue;
  store: Store;
  access: AccessControl;
  clock: Clock;
  /** Who takes what is written; nobody unless the daemon is linked. */
  recording: { recorder: ChangeCapture | null };
  close(): Promise<void>;
}

/** Opens the data in `dataDir`, making an empty database where there is none. Throws UpstreamError when it is in use. */
export function openApplianceData(options: ApplianceDataOptions): ApplianceData {
  const catalogue = createCatalogue(options.declarations);
  const recording = { recorder: null };
  const converter = createRecordingConverter(options.clock);
  const room = options.keepsDiskReserve ? keepDiskReserve(options) : null;
  const spareRoom = room && { diskReserve: room };
  const store = openStore({ version: productVersion(), ...options, ...spareRoom, catalogue, recording, converter });
  const access = createAccessControl({ store, catalogue, clock: options.clock, events: options.events });
  return {
    catalogue,
    store,
    access,
    clock: options.clock,
    recording,
    async close() {
      room?.stop();
      access.close();
      await store.close();
    },
  };
}

/** own choice: messages to some thousand devices, with what is written of each. */
const DISK_RESERVE_BYTES = 16 * 1_048_576;
/** The start has the disk for itself; afterwards it is looked after so often. own choice */
const DISK_RESERVE_DELAY_MS = 10_000;
const DISK_RESERVE_CHECK_INTERVAL_MS = 60_000;

function keepDiskReserve({
  dataDir,
  clock,
  log,
}: ApplianceDataOptions): Pick<DiskReserve, "release"> & { stop(): void } {
  const room = createDiskReserve(join(dataDir, "spare-room"), DISK_RESERVE_BYTES);
  const keep = (): void => void room.allocate();
  const timers = [
    clock.after(DISK_RESERVE_DELAY_MS, keep, { background: true }),
    clock.every(DISK_RESERVE_CHECK_INTERVAL_MS, keep),
  ];
  return {
    release() {
      const isFree = room.release();
      if (isFree) log.error("the disk is full: the room kept for emergencies is given up");
      return isFree;
    },
    stop() {
      for (const timer of timers) timer.cancel();
    },
  };
}

/** Opens the data as `openData` does, for one command while no daemon runs: with the rules of access, without plugins. */
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
  const bound = accessHooks(clock, catalogue);
  return openApplianceData({
    dataDir,
    ...(key && { key }),
    ...(tables && { tables }),
    declarations,
    behaviours: Object.fromEntries(bound.map(([resource, behaviour]) => [resource.name, behaviour])),
    clock,
    events: createEvents(fail),
    log: silentLog,
    // The write that met the fault is rejected with it, which is all that such a command waits for.
    onFatal: () => undefined,
  });
}

/** True once `init` has filled the store: there is a root domain then. */
export function isInitialized(store: Store): boolean {
  return store.count(domains, { parentId: null }) > 0;
}

/** Throws UpstreamError (about the data directory) when `dataDir` holds no database; ends a restore that was interrupted. */
export function requireDatabase(dataDir: string): void {
  assertDataDirectoryReadable(dataDir);
  completePendingRestore(dataDir);
  if (!existsSync(join(dataDir, "carillon.db"))) throw notInitializedError(dataDir);
}

/** The fault of a data directory that `init` has not filled. */
export function notInitializedError(dataDir: string): UpstreamError {
  const message = `There is no appliance in ${dataDir}. Set it up first: carillon init --data ${dataDir} …`;
  return new UpstreamError("starting", message, { dataDir });
}
