import { newId } from "../../src/base/ids.ts";
import { type Command, type Frame, LIMITS } from "../../src/replication/frames.ts";
import { createHub, type Hub } from "../../src/replication/hub/hub.ts";
import { replicatedTypes } from "../../src/replication/replicated-types.ts";
import { ACTIVITY_TYPE } from "../../src/replication/site/activities.ts";
import type { Play } from "../../src/replication/site/command-desk.ts";
import { createSite, type Site } from "../../src/replication/site/site.ts";
import type { Body, WorkStore } from "../../src/replication/work.ts";
import type { Catalogue } from "../../src/schema/catalogue.ts";
import { createMemoryBlobs } from "../sim/memory-blobs.ts";
import { createMemoryStore, type MemoryStore } from "../sim/memory-store.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";

/** An appliance, `site-a`, and its cloud in one process, on databases in memory. */
export interface LinkedPair {
  clock: FakeClock;
  hub: Hub;
  site: Site;
  cloud: MemoryStore;
  own: MemoryStore;
  /** What either end complained of. */
  faults: string[];
  /** Why the connection was closed; null while it stands. */
  closed(): string | null;
  /** Begins a connection and waits until all was said. */
  connect(): Promise<void>;
  /** Waits until all was said. */
  settle(): Promise<void>;
  /** Hands a value to an end as if the other one had sent it. */
  toSite(value: unknown): void;
  toCloud(value: unknown): void;
  command(command: Partial<Command> & Pick<Command, "cid" | "kind">): Promise<void>;
  /** What the appliance tells of itself. */
  activities(): Body[];
  stop(): void;
}

/** Makes the pair, linked. */
export async function linkedPair(catalogue: Catalogue, play: Play): Promise<LinkedPair> {
  const clock = createFakeClock();
  const types = replicatedTypes(catalogue);
  const [cloud, own] = [createMemoryStore(catalogue), createMemoryStore(catalogue)];
  const faults: string[] = [];
  const fault = (error: unknown): void => void faults.push(String(error));
  const common = { clock, types, limits: LIMITS, newId, onFault: fault };
  const storeOf = (memory: MemoryStore): WorkStore => ({
    transact: async (work) => memory.perform(work),
    read: async (work) => memory.perform(work),
  });
  let closed: string | null = null;
  let toSite: (value: unknown) => void = () => undefined;
  let toCloud: (value: unknown) => void = () => undefined;
  const hub = createHub({
    ...{ ...common, store: storeOf(cloud), blobs: createMemoryBlobs() },
    onBadPeer: (endpoint, reason) => faults.push(`${endpoint}: ${reason}`),
    isInGroup: (endpoint, group) => endpoint === "site-a" && group === "own",
  });
  const site = createSite({
    ...{ ...common, store: storeOf(own), blobs: createMemoryBlobs(), endpoint: "site-a", about: { site: "site-a" } },
    ...{ groups: () => [], hasContact: () => false, onMark() {}, onMismatch() {}, onLease() {}, onTrouble() {} },
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
    ...{ clock, hub, site, cloud, own, faults, connect, settle },
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
      await hub.command([{ endpoint: "site-a", command: { ...command, ...given } }]);
      await settle();
    },
    activities: () => [...own.rows].flatMap(([key, body]) => (key.startsWith(`${ACTIVITY_TYPE}/`) ? [body] : [])),
    stop() {
      site.stop();
      hub.stop();
    },
  };
}
