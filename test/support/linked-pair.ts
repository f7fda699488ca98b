import { newId } from "../../src/lib/ids.ts";
import type { Catalogue } from "../../src/schema/catalogue.ts";
import { createHubSync, type HubSync } from "../../src/sync/hub/hub-sync.ts";
import { type Frame, SYNC_LIMITS, type SyncCommand } from "../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../src/sync/protocol/replicated-types.ts";
import type { PlayCommand } from "../../src/sync/site/command-scheduler.ts";
import { createSiteSync, type SiteSync } from "../../src/sync/site/site-sync.ts";
import { ACTIVITY_TYPE } from "../../src/sync/site/sync-activities.ts";
import type { RowBody, TransactionStore } from "../../src/sync/storage/transaction-program.ts";
import { createMemoryBlobStore } from "../sim/memory-blob-store.ts";
import { createMemoryStore, type MemoryStore } from "../sim/memory-store.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";

/** An appliance, `site-a`, and its cloud in one process, on databases in memory. */
export interface LinkedPair {
  clock: FakeClock;
  hub: HubSync;
  site: SiteSync;
  hubStore: MemoryStore;
  siteStore: MemoryStore;
  /** What either end complained of. */
  errors: string[];
  /** Why the connection was closed; null while it stands. */
  closed(): string | null;
  /** Begins a connection and waits until all was said. */
  connect(): Promise<void>;
  /** Waits until all was said. */
  settle(): Promise<void>;
  /** Hands a value to an end as if the other one had sent it. */
  toSite(value: unknown): void;
  toCloud(value: unknown): void;
  command(command: Partial<SyncCommand> & Pick<SyncCommand, "cid" | "kind">): Promise<void>;
  /** What the appliance tells of itself. */
  activities(): RowBody[];
  stop(): void;
}

/** Makes the pair, linked. */
export async function linkedPair(catalogue: Catalogue, play: PlayCommand): Promise<LinkedPair> {
  const clock = createFakeClock();
  const types = readReplicatedTypes(catalogue);
  const [hubStore, siteStore] = [createMemoryStore(catalogue), createMemoryStore(catalogue)];
  const errors: string[] = [];
  const fault = (error: unknown): void => void errors.push(String(error));
  const common = { clock, types, limits: SYNC_LIMITS, newId, onFault: fault };
  const storeOf = (memory: MemoryStore): TransactionStore => ({
    transact: async (work) => memory.perform(work),
    read: async (work) => memory.perform(work),
  });
  let closed: string | null = null;
  let toSite: (value: unknown) => void = () => undefined;
  let toCloud: (value: unknown) => void = () => undefined;
  const hub = createHubSync({
    ...{ ...common, store: storeOf(hubStore), blobs: createMemoryBlobStore() },
    onProtocolViolation: (endpoint, reason) => errors.push(`${endpoint}: ${reason}`),
    isInGroup: (endpoint, group) => endpoint === "site-a" && group === "own",
  });
  const site = createSiteSync({
    ...{
      ...common,
      store: storeOf(siteStore),
      blobs: createMemoryBlobStore(),
      endpoint: "site-a",
      activityFields: { site: "site-a" },
    },
    ...{
      groups: () => [],
      hasContact: () => false,
      onCheckpoint() {},
      onMismatch() {},
      onLease() {},
      onSyncError() {},
    },
    ...{ resumed: () => "interrupted", play },
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
  };
  async function connect(): Promise<void> {
    closed = null;
    const end = (code: string): void => {
      closed ??= code;
    };
    const wire = { send: (frame: Frame) => setImmediate(() => toCloud(frame)), close: end };
    const session = hub.connected(
      { send: (frame) => setImmediate(() => site.frame(wire, frame)), close: end },
      "site-a",
    );
    toCloud = session.frame;
    toSite = (value) => site.frame(wire, value);
    site.connected(wire);
    await settle();
  }
  await hub.start();
  await site.start();
  await connect();
  return {
    ...{ clock, hub, site, hubStore, siteStore, errors, connect, settle },
    closed: () => closed,
    toSite: (value) => toSite(value),
    toCloud: (value) => toCloud(value),
    async command(given) {
      const command = {
        class: "admin",
        notAfter: clock.now() + 86_400_000,
        rank: 0,
        term: 0,
        ref: null,
        body: {},
      } as const;
      await hub.issue([{ endpoint: "site-a", command: { ...command, ...given } }]);
      await settle();
    },
    activities: () => [...siteStore.rows].flatMap(([key, body]) => (key.startsWith(`${ACTIVITY_TYPE}/`) ? [body] : [])),
    stop() {
      site.stop();
      hub.stop();
    },
  };
}
