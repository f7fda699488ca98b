import { UpstreamError } from "../../src/lib/errors.ts";
import { adoptRestoredData } from "../../src/sync/adopt-restored-data.ts";
import type { FrameTransport, SyncLimits } from "../../src/sync/protocol/frames.ts";
import type { ReplicatedTypes } from "../../src/sync/protocol/replicated-types.ts";
import { recordLocalWrite } from "../../src/sync/site/local-writes.ts";
import { createSiteSync, type SiteSync } from "../../src/sync/site/site-sync.ts";
import { APPLIED_VERSIONS, type SyncState } from "../../src/sync/site/tables.ts";
import {
  applyRow,
  deleteRecord,
  type RowBody,
  readProductRow,
  scanRecords,
} from "../../src/sync/storage/transaction-program.ts";
import { createMachine, type Disk, type SimulatedMachine } from "./machine.ts";
import type { MemoryBlobStore } from "./memory-blob-store.ts";
import type { ConnectionEnd } from "./network.ts";
import { type ObservedSite, type Oracle, Violation } from "./oracle.ts";
import type { RunStatistics } from "./run-statistics.ts";
import type { RandomSource } from "./seeded-random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A wall clock without a battery begins here. */
const EPOCH_SKEW = -1.76e12;

/** What an appliance of the simulation needs. */
export interface SiteMachineDeps {
  name: string;
  disk: Disk;
  time: VirtualTime;
  dice: RandomSource;
  types: ReplicatedTypes;
  limits: SyncLimits;
  oracle: Oracle;
  lan: { isUp: boolean };
  blobs: MemoryBlobStore;
  /** All appliances, this one too. */
  sites: readonly SiteMachine[];
  /** The process ended: its connection is gone. */
  crashed(site: SiteMachine): void;
  /** Asks for a connection; called again and again until one stands. */
  dial(site: SiteMachine): void;
  violated(error: unknown): void;
  figures: RunStatistics;
}

/** A copy of an appliance's disk: when it was made, where it stood, and how wrong the clock was by which it was written. */
export interface DiskImage {
  disk: Disk;
  link: SyncState | null;
  at: number;
  skewMs: number;
}

/** An appliance of the simulation: the product's own side of the link, on a machine that may die. */
export interface SiteMachine {
  readonly watched: ObservedSite;
  readonly machine: SimulatedMachine;
  readonly blobs: MemoryBlobStore;
  site: SiteSync | null;
  /** What hears from the cloud. */
  end(wire: FrameTransport): ConnectionEnd;
  attach(wire: FrameTransport): void;
  boot(): void;
  image(at: number): DiskImage;
  /** Puts an older copy of the disk into place of the present one. `told`: by the tool made for that. */
  restore(backup: DiskImage, told: boolean): void;
  /** Writes a row as a person or a room of the appliance would; false when it is refused. */
  write(type: string, id: string, change: (before: RowBody | null) => RowBody | null): void;
  /** Takes a replicated row from the disk behind its back. */
  rot(): void;
}

/** Makes an appliance that is switched off. */
export function createSiteMachine(needs: SiteMachineDeps): SiteMachine {
  const { name, time, dice, types, oracle, figures } = needs;
  const machine = createMachine({
    time,
    dice,
    disk: needs.disk,
    fault: { skewMs: (dice.next() - 0.5) * 7_200_000, drift: (dice.next() - 0.5) * 4e-4 },
    committed: (performed) => oracle.siteCommitted(watched, performed),
    crashed() {
      figures.crashes += 1;
      watched.diedAt = time.now();
      needs.crashed(self);
      self.site?.stop();
      self.site = null;
      time.in(100 + dice.next() * 5_000, self.boot);
    },
  });
  const watched: ObservedSite = {
    name,
    machine,
    link: null,
    isRotten: false,
    sounded: new Map(),
    restoredAt: 0,
    rawRestoredAt: 0,
    imageSkewMs: null,
    diedAt: 0,
    bornAt: 0,
    armed: new Map(),
    aheadMs: () => Math.max(0, (self.site?.latestCloudTime() ?? time.now()) - time.now()),
    cancelled: new Map(),
    facts: new Map(),
    edits: new Set(),
    leases: new Map(),
    applied: 0,
  };
  let wire: FrameTransport | null = null;
  let mustAdopt = false;
  /** A process ran long enough to see its clock. */
  let isNoticed = false;

  async function begin(): Promise<void> {
    const life = machine.boot();
    watched.bornAt = time.now();
    wire = null;
    const site = createSiteSync({
      store: life.store,
      clock: life.clock,
      types,
      limits: needs.limits,
      endpoint: name,
      newId: dice.id,
      blobs: needs.blobs,
      activityFields: { site: name },
      resumed: () => "done",
      groups: () => ["group"],
      hasContact: () => needs.lan.isUp && needs.sites.some((other) => other !== self && other.site !== null),
      onCheckpoint() {},
      onMismatch(_different) {
        figures.mismatches += 1;
      },
      onLease(lease, until) {
        const others = needs.sites.filter((other) => other !== self).map((other) => other.watched);
        const leftMs = (until - life.clock.monotonicMs()) / (1 + machine.fault.drift);
        oracle.leased(watched, lease, leftMs, others);
      },
      onSyncError() {},
      onFault(error) {
        // What is no frame was made so.
        if (!(error instanceof UpstreamError)) needs.violated(error);
      },
      play(command, on) {
        oracle.sounded(watched, command);
        figures.sounded += 1;
        time.in(dice.next() * 20, () => {
          if (!life.isAlive) return;
          on.heard();
          for (const other of needs.sites) if (other !== self && needs.lan.isUp) other.site?.peerStarted(command.cid);
        });
        const ending = time.in(50 + dice.next() * 4_000, () => life.isAlive && on.ended("done"));
        return () => ending.cancel();
      },
    });
    if (mustAdopt)
      await life.store.transact(() =>
        adoptRestoredData({ types, commonFields: { site: name }, now: life.clock.now(), newId: dice.id }),
      );
    mustAdopt = false;
    await site.start();
    isNoticed = true;
    self.site = site;
    redial(life);
  }

  function redial(life: { isAlive: boolean }): void {
    time.in(dice.next() * 2_000, () => {
      if (!life.isAlive || wire) return;
      needs.dial(self);
      if (!wire) redial(life);
    });
  }

  const self: SiteMachine = {
    watched,
    machine,
    blobs: needs.blobs,
    site: null,
    end(own) {
      const life = machine.life;
      return {
        frame(value) {
          if (!life?.isAlive || !self.site || wire !== own) return false;
          oracle.arrived("site", name, value);
          self.site.frame(own, value);
          return true;
        },
        closed() {
          if (!life?.isAlive || wire !== own) return;
          self.site?.disconnected(own);
          wire = null;
          redial(life);
        },
      };
    },
    attach(own) {
      wire = own;
      self.site?.connected(own);
    },
    boot() {
      if (machine.life) return;
      // After a loss of power the clock may begin at 1970.
      if (dice.happens(0.1)) machine.fault = { ...machine.fault, skewMs: EPOCH_SKEW };
      else if (isNoticed && machine.fault.skewMs === EPOCH_SKEW) machine.fault = { ...machine.fault, skewMs: 0 };
      isNoticed = false;
      void begin().catch(needs.violated);
    },
    image(at) {
      // The time of a restored image is kept as it was, until the cloud is heard.
      const skewMs = watched.imageSkewMs ?? machine.fault.skewMs;
      return { disk: machine.disk.copy(), link: watched.link, at, skewMs };
    },
    restore(backup, told) {
      machine.crash();
      machine.disk.close();
      machine.disk = backup.disk.copy();
      watched.restoredAt = time.now();
      if (!told) watched.rawRestoredAt = time.now();
      watched.imageSkewMs = told ? null : backup.skewMs;
      mustAdopt = told;
      watched.link = backup.link;
      for (const [fact, at] of watched.facts) if (at > backup.at) watched.facts.delete(fact);
      watched.edits.clear();
    },
    write(type, id, change) {
      const life = machine.life;
      if (!life || !self.site) return;
      const at = time.now();
      const fact = types.replicationClass(type) === "D" ? id : null;
      const uids: string[] = [];
      const work = function* () {
        const before = yield* readProductRow(type, id);
        const after = change(before);
        if (!before && !after) return false;
        if ((yield* applyRow(type, id, after)) !== "done") return false;
        const newId = (): string => {
          uids.push(dice.id());
          return uids.at(-1) as string;
        };
        yield* recordLocalWrite({ type, id, before, after, actor: "someone", at, newId }, types);
        return true;
      };
      void life.store.transact(work).then((done) => {
        if (!done && fact) needs.violated(new Violation(`I10: ${name} could not write ${fact}`));
        if (!done) return;
        if (fact) watched.facts.set(fact, time.now());
        if (types.replicationClass(type) === "B") for (const uid of uids) watched.edits.add(uid);
        self.site?.wake();
      }, needs.violated);
    },
    rot() {
      const rows = machine.disk.peek(() => scanRecords(APPLIED_VERSIONS));
      const leaf = rows.find(({ type }) => type === "lists");
      if (!leaf || !machine.life || watched.link?.applyingCheckpoint) return;
      watched.isRotten = true;
      void machine.disk
        .transact(function* () {
          yield* deleteRecord(APPLIED_VERSIONS, leaf.type, leaf.id);
          yield* applyRow(leaf.type, leaf.id, null);
        })
        .catch(needs.violated);
    },
  };
  return self;
}
