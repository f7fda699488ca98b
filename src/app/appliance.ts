import { existsSync } from "node:fs";
import { join } from "node:path";
import { createAccess } from "../access/access.ts";
import { accessBehaviours } from "../access/behaviours.ts";
import type { Access } from "../access/principal.ts";
import { createRecordingConverter } from "../audio/recording-converter.ts";
import type { Clock } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";
import { createEvents, type Events } from "../base/events.ts";
import { type Log, silentLog } from "../base/log.ts";
import domains from "../resources/domains/domains.ts";
import { type Catalogue, createCatalogue } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { requireReadable } from "../store/data-folder.ts";
import { openStore } from "../store/open-store.ts";
import type { SharedLog } from "../store/shared-log.ts";
import { createSpareRoom, type SpareRoom } from "../store/spare-room.ts";
import type { Behaviour, Recorder, RoomTable, Store } from "../store/store.ts";
import { finishRestore } from "./finish-restore.ts";
import { loadDeclarations, OWN_DECLARATIONS } from "./load-declarations.ts";
import { ownVersion } from "./version.ts";

/** What the data of an appliance is opened with. */
export interface DataOptions {
  dataDir: string;
  /** See `StoreOptions`. */
  key?: Buffer;
  declarations: readonly AnyResource[];
  behaviours: Readonly<Record<string, Behaviour>>;
  tables?: readonly RoomTable[];
  clock: Clock;
  events: Events;
  log: Log;
  /** See `StoreOptions`. */
  onFatal: (error: unknown) => void;
  /** See `StoreOptions`. */
  shared?: SharedLog;
  follows?: boolean;
  /** Room on the disk is kept for emergencies. */
  keepsSpareRoom?: boolean;
}

/** The data of an appliance, in use by this process alone until closed. */
export interface ApplianceData {
  catalogue: Catalogue;
  store: Store;
  access: Access;
  clock: Clock;
  /** Who takes what is written; nobody unless the daemon is linked. */
  recording: { recorder: Recorder | null };
  close(): Promise<void>;
}

/** Opens the data in `dataDir`, making an empty database where there is none. Throws UpstreamError when it is in use. */
export function openData(options: DataOptions): ApplianceData {
  const catalogue = createCatalogue(options.declarations);
  const recording = { recorder: null };
  const converter = createRecordingConverter(options.clock);
  const room = options.keepsSpareRoom ? keepSpareRoom(options) : null;
  const spareRoom = room && { spareRoom: room };
  const store = openStore({ version: ownVersion(), ...options, ...spareRoom, catalogue, recording, converter });
  const access = createAccess({ store, catalogue, clock: options.clock, events: options.events });
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
const SPARE_BYTES = 16 * 1_048_576;
/** The start has the disk for itself; afterwards it is looked after so often. own choice */
const SPARE_AFTER_MS = 10_000;
const SPARE_EVERY_MS = 60_000;

function keepSpareRoom({ dataDir, clock, log }: DataOptions): Pick<SpareRoom, "release"> & { stop(): void } {
  const room = createSpareRoom(join(dataDir, "spare-room"), SPARE_BYTES);
  const keep = (): void => void room.keep();
  const timers = [clock.after(SPARE_AFTER_MS, keep, { background: true }), clock.every(SPARE_EVERY_MS, keep)];
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
export async function openDataOffline(
  dataDir: string,
  clock: Clock,
  key?: Buffer,
  tables?: readonly RoomTable[],
): Promise<ApplianceData> {
  const fail = (error: unknown): never => {
    throw error;
  };
  const declarations = await loadDeclarations([OWN_DECLARATIONS]);
  const catalogue = createCatalogue(declarations);
  const bound = accessBehaviours(clock, catalogue);
  return openData({
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
export function isSetUp(store: Store): boolean {
  return store.count(domains, { parentId: null }) > 0;
}

/** Throws UpstreamError (about the data directory) when `dataDir` holds no database; ends a restore that was interrupted. */
export function requireDatabase(dataDir: string): void {
  requireReadable(dataDir);
  finishRestore(dataDir);
  if (!existsSync(join(dataDir, "carillon.db"))) throw notSetUp(dataDir);
}

/** The fault of a data directory that `init` has not filled. */
export function notSetUp(dataDir: string): UpstreamError {
  const message = `There is no appliance in ${dataDir}. Set it up first: carillon init --data ${dataDir} …`;
  return new UpstreamError("starting", message, { dataDir });
}
