import { UpstreamError } from "../../src/lib/errors.ts";
import { adoptRestoredData } from "../../src/sync/adopt-restored-data.ts";
import { createHubSync, type HubSync } from "../../src/sync/hub/hub-sync.ts";
import type { Frame, FrameTransport, SyncLimits } from "../../src/sync/protocol/frames.ts";
import type { ReplicatedTypes } from "../../src/sync/protocol/replicated-types.ts";
import { createMachine, type DatabaseNode, type Disk, type ProcessLifetime, type SimulatedMachine } from "./machine.ts";
import type { MemoryBlobStore } from "./memory-blob-store.ts";
import type { ConnectionEnd } from "./network.ts";
import type { Oracle } from "./oracle.ts";
import type { RunStatistics } from "./run-statistics.ts";
import type { RandomSource } from "./seeded-random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What the cloud of the simulation needs. */
export interface CloudMachineDeps {
  disk: Disk;
  time: VirtualTime;
  dice: RandomSource;
  types: ReplicatedTypes;
  limits: SyncLimits;
  blobs: MemoryBlobStore;
  oracle: Oracle;
  figures: RunStatistics;
  violated(error: unknown): void;
  /** The process ended: its connections are gone. */
  crashed(): void;
  /** A frame came; part of the trace. */
  came(what: string): void;
}

/** The cloud of the simulation: the product's own hub, on a machine that may die. */
export interface CloudMachine {
  readonly machine: SimulatedMachine;
  readonly blobs: MemoryBlobStore;
  hub: HubSync | null;
  /** What serves it, where its rows are in a database that other nodes may serve, too. */
  readonly node: DatabaseNode | null;
  /** Whether it lets anybody in. */
  readonly isOpen: boolean;
  /** The cloud's end of a new connection, null while it is down. */
  accept(wire: FrameTransport, name: string): ConnectionEnd | null;
  boot(): Promise<void>;
  /**
   * It does not reach its database for so long, ms, and another node takes its place; people who reach it still `write`
   * there.
   */
  cutOff(forMs: number, write: (hub: HubSync) => void): void;
  /** Another node takes its place while all that it writes by still works. */
  usurp(write: (hub: HubSync) => void): void;
  /** Nobody is cut off any more. */
  heal(): void;
  backUp(): void;
  restore(): void;
  liveRows: Oracle["liveRows"];
}

/** A node whose network swallows everything is found out by its database after so long. */
const SILENT_MS = 6_000;
/** One that reaches it again finds out well within this that it does not act any more. */
const STANDS_BY_MS = 30_000;
/** Writes wait for the database about so long; and a node that was cut off asks who acts within so long. */
const [WAITING_MS, TRIES_MS] = [5_000, 400];
/** How often the product looks whether its database is heard. */
const LOOK_EVERY_MS = 1_000;

/** Makes a cloud that is switched off. */
export function createCloudMachine(needs: CloudMachineDeps): CloudMachine {
  const { time, dice, types, limits, oracle, figures, violated } = needs;
  /** Those that were cut off, until they end. */
  const alone = new Set<() => void>();
  const backups: { disk: Disk; timeline: ReturnType<Oracle["timeline"]> }[] = [];
  let mustAdopt = false;
  let node: DatabaseNode | null = null;
  const machine = createMachine({
    time,
    dice,
    disk: needs.disk,
    fault: { skewMs: 0, drift: 0 },
    committed: oracle.cloudCommitted,
    crashed() {
      figures.crashes += 1;
      needs.crashed();
      cloud.hub?.stop();
      cloud.hub = null;
      bootIn(100 + dice.next() * 3_000);
    },
  });
  const bootIn = (ms: number): void => void time.in(ms, () => void cloud.boot().catch(violated));

  async function begin({ store, clock }: ProcessLifetime): Promise<HubSync> {
    if (mustAdopt)
      await store.transact(() => adoptRestoredData({ types, commonFields: {}, now: clock.now(), newId: dice.id }));
    mustAdopt = false;
    const hub = createHubSync({
      ...{ store, clock, types, limits, blobs: needs.blobs, newId: dice.id, onFault: violated },
      onProtocolViolation() {},
    });
    await hub.start();
    return hub;
  }

  /** As the product does it around a hub: who is not heard of ends its links, whose place another one took ends. */
  function attend(life: ProcessLifetime, serving: DatabaseNode): void {
    node = serving;
    life.clock.every(LOOK_EVERY_MS, () => serving.isHeard() || needs.crashed());
    void serving.lost.then(() => machine.life === life && machine.crash());
  }

  /** The process goes on until it hears that another one acts, which may begin now; null where there are enough of them. */
  function leave(): { hub: HubSync; life: ProcessLifetime; serving: DatabaseNode; end(): void } | null {
    const { hub } = cloud;
    const { life } = machine;
    if (!hub || !life || !node || alone.size > 1) return null;
    figures.takeovers += 1;
    const end = (): void => {
      if (!alone.delete(end)) return;
      life.isAlive = false;
      life.disk.killed?.();
      hub.stop();
      needs.crashed();
    };
    alone.add(end);
    machine.leave();
    cloud.hub = null;
    void node.lost.then(end);
    return { hub, life, serving: node, end };
  }

  const cloud: CloudMachine = {
    machine,
    blobs: needs.blobs,
    hub: null,
    async boot() {
      if (machine.life) return;
      const life = machine.boot();
      node = null;
      try {
        const hub = await begin(life);
        const serving = await life.disk.node;
        // It died while it waited: nobody may find it there in place of the next one.
        if (!life.isAlive) return hub.stop();
        if (serving) attend(life, serving);
        cloud.hub = hub;
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        // As with the product, somebody starts it again.
        if (machine.life === life) machine.crash();
      }
    },
    get isOpen() {
      return cloud.hub !== null && node?.isHeard() !== false;
    },
    get node() {
      return cloud.hub && node;
    },
    accept(wire, name) {
      const { hub } = cloud;
      const { life } = machine;
      if (!hub || !life) return null;
      const session = hub.connected(wire, name);
      return {
        frame(frame) {
          if (!life.isAlive) return false;
          needs.came(String((frame as Frame).t));
          oracle.arrived("cloud", name, frame);
          session.frame(frame);
          return true;
        },
        closed: () => life.isAlive && session.closed(),
      };
    },
    cutOff(forMs, write) {
      const left = leave();
      if (!left) return;
      const { serving, life } = left;
      serving.breakAll(false);
      // Some wait for it to be back, some come just then.
      for (const ms of [forMs - dice.next() * WAITING_MS, forMs + dice.next() * TRIES_MS])
        time.in(Math.max(0, ms), () => life.isAlive && write(left.hub));
      time.in(forMs, () => life.isAlive && serving.breakAll(true));
      time.in(forMs + STANDS_BY_MS, left.end);
      bootIn(SILENT_MS + dice.next() * 3_000);
    },
    usurp(write) {
      const left = leave();
      if (!left) return;
      const { serving, life } = left;
      bootIn(0);
      for (let turn = 1; turn <= 8; turn += 1) {
        const lostAt = turn * 1_000;
        time.in(lostAt, () => life.isAlive && serving.loseLock());
        for (let more = 0; more < 4; more += 1)
          time.in(lostAt + dice.next() * 2 * TRIES_MS - TRIES_MS, () => life.isAlive && write(left.hub));
      }
      time.in(STANDS_BY_MS, left.end);
    },
    heal() {
      machine.crashIn = null;
      for (const end of alone) end();
    },
    backUp() {
      if (mustAdopt || !cloud.hub) return;
      backups.push({ disk: machine.disk.copy(), timeline: oracle.timeline() });
      if (backups.length > 3) backups.shift()?.disk.close();
    },
    restore() {
      const backup = backups.length > 0 ? dice.pick(backups) : null;
      if (!backup) return;
      figures.cloudRestores += 1;
      // Nobody serves it meanwhile.
      cloud.heal();
      machine.crash();
      machine.disk.close();
      machine.disk = backup.disk.copy();
      oracle.cloudRestored(backup.timeline);
      mustAdopt = true;
    },
    liveRows: oracle.liveRows,
  };
  return cloud;
}
