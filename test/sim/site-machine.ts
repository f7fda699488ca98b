import { UpstreamError } from "../../src/base/errors.ts";
import type { Limits, Wire } from "../../src/replication/frames.ts";
import type { ReplicatedTypes } from "../../src/replication/replicated-types.ts";
import { adoptRestored } from "../../src/replication/restored.ts";
import { recordLocalWrite } from "../../src/replication/site/local-writes.ts";
import { createSite, type Site } from "../../src/replication/site/site.ts";
import { BASE, type LinkState } from "../../src/replication/site/tables.ts";
import { applyRow, type Body, drop, scan, shownRow } from "../../src/replication/work.ts";
import type { Dice } from "./dice.ts";
import type { Figures } from "./figures.ts";
import { createMachine, type Disk, type Machine } from "./machine.ts";
import type { MemoryBlobs } from "./memory-blobs.ts";
import type { End } from "./network.ts";
import { type Oracle, Violation, type Watched } from "./oracle.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A wall clock without a battery begins here. */
const EPOCH_SKEW = -1.76e12;

/** What an appliance of the simulation needs. */
export interface SiteMachineNeeds {
  name: string;
  disk: Disk;
  time: VirtualTime;
  dice: Dice;
  types: ReplicatedTypes;
  limits: Limits;
  oracle: Oracle;
  lan: { isUp: boolean };
  blobs: MemoryBlobs;
  /** All appliances, this one too. */
  sites: readonly SiteMachine[];
  /** The process ended: its connection is gone. */
  crashed(site: SiteMachine): void;
  /** Asks for a connection; called again and again until one stands. */
  dial(site: SiteMachine): void;
  violated(error: unknown): void;
  figures: Figures;
}

/** A copy of an appliance's disk: when it was made, where it stood, and how wrong the clock was by which it was written. */
export interface DiskImage {
  disk: Disk;
  link: LinkState | null;
  at: number;
  skewMs: number;
}

/** An appliance of the simulation: the product's own side of the link, on a machine that may die. */
export interface SiteMachine {
  readonly watched: Watched;
  readonly machine: Machine;
  readonly blobs: MemoryBlobs;
  site: Site | null;
  /** What hears from the cloud. */
  end(wire: Wire): End;
  attach(wire: Wire): void;
  boot(): void;
  image(at: number): DiskImage;
  /** Puts an older copy of the disk into place of the present one. `told`: by the tool made for that. */
  restore(backup: DiskImage, told: boolean): void;
  /** Writes a row as a person or a room of the appliance would; false when it is refused. */
  write(type: string, id: string, change: (before: Body | null) => Body | null): void;
  /** Takes a replicated row from the disk behind its back. */
  rot(): void;
}

/** Makes an appliance that is switched off. */
export function createSiteMachine(needs: SiteMachineNeeds): SiteMachine {
  const { name, time, dice, types, oracle, figures } = needs;
  const machine = createMachine({
    time,
    dice,
    disk: needs.disk,
    fault: { skewMs: (dice.roll() - 0.5) * 7_200_000, drift: (dice.roll() - 0.5) * 4e-4 },
    committed: (performed) => oracle.siteCommitted(watched, performed),
    crashed() {
      figures.crashes += 1;
      watched.diedAt = time.now();
      needs.crashed(self);
      self.site?.stop();
      self.site = null;
      time.in(100 + dice.roll() * 5_000, self.boot);
    },
  });
  const watched: Watched = {
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
    aheadMs: () => Math.max(0, (self.site?.latest() ?? time.now()) - time.now()),
    cancelled: new Map(),
    facts: new Map(),
    edits: new Set(),
    leases: new Map(),
    applied: 0,
  };
  let wire: Wire | null = null;
  let mustAdopt = false;
  /** A process ran long enough to see its clock. */
  let isNoticed = false;

  async function begin(): Promise<void> {
    const life = machine.boot();
    watched.bornAt = time.now();
    wire = null;
    const site = createSite({
      store: life.store,
      clock: life.clock,
      types,
      limits: needs.limits,
      endpoint: name,
      newId: dice.id,
      blobs: needs.blobs,
      about: { site: name },
      resumed: () => "done",
      groups: () => ["group"],
      hasContact: () => needs.lan.isUp && needs.sites.some((other) => other !== self && other.site !== null),
      onMark() {},
      onMismatch(_different) {
        figures.mismatches += 1;
      },
      onLease(lease, until) {
        const others = needs.sites.filter((other) => other !== self).map((other) => other.watched);
        const leftMs = (until - life.clock.monotonicMs()) / (1 + machine.fault.drift);
        oracle.leased(watched, lease, leftMs, others);
      },
      onTrouble() {},
      onFault(error) {
        // What is no frame was made so.
        if (!(error instanceof UpstreamError)) needs.violated(error);
      },
      play(command, on) {
        oracle.sounded(watched, command);
        figures.sounded += 1;
        time.in(dice.roll() * 20, () => {
          if (!life.isAlive) return;
          on.heard();
          for (const other of needs.sites) if (other !== self && needs.lan.isUp) other.site?.peerHeard(command.cid);
        });
        const ending = time.in(50 + dice.roll() * 4_000, () => life.isAlive && on.ended("done"));
        return () => ending.cancel();
      },
    });
    if (mustAdopt)
      await life.store.transact(() =>
        adoptRestored({ types, about: { site: name }, now: life.clock.now(), newId: dice.id }),
      );
    mustAdopt = false;
    await site.start();
    isNoticed = true;
    self.site = site;
    redial(life);
  }

  function redial(life: { isAlive: boolean }): void {
    time.in(dice.roll() * 2_000, () => {
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
      const fact = types.classOf(type) === "D" ? id : null;
      const uids: string[] = [];
      const work = function* () {
        const before = yield* shownRow(type, id);
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
        if (types.classOf(type) === "B") for (const uid of uids) watched.edits.add(uid);
        self.site?.wake();
      }, needs.violated);
    },
    rot() {
      const rows = machine.disk.peek(() => scan(BASE));
      const leaf = rows.find(({ type }) => type === "lists");
      if (!leaf || !machine.life || watched.link?.marking) return;
      watched.isRotten = true;
      void machine.disk
        .transact(function* () {
          yield* drop(BASE, leaf.type, leaf.id);
          yield* applyRow(leaf.type, leaf.id, null);
        })
        .catch(needs.violated);
    },
  };
  return self;
}
