import type { Frame, Limits, Wire } from "../../src/replication/frames.ts";
import { createHub, type Hub } from "../../src/replication/hub/hub.ts";
import type { ReplicatedTypes } from "../../src/replication/replicated-types.ts";
import { adoptRestored } from "../../src/replication/restored.ts";
import type { Dice } from "./dice.ts";
import type { Figures } from "./figures.ts";
import { createMachine, type Disk, type Machine } from "./machine.ts";
import type { MemoryBlobs } from "./memory-blobs.ts";
import type { End } from "./network.ts";
import type { Oracle } from "./oracle.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What the cloud of the simulation needs. */
export interface CloudMachineNeeds {
  disk: Disk;
  time: VirtualTime;
  dice: Dice;
  types: ReplicatedTypes;
  limits: Limits;
  blobs: MemoryBlobs;
  oracle: Oracle;
  figures: Figures;
  violated(error: unknown): void;
  /** The process ended: its connections are gone. */
  crashed(): void;
  /** A frame came; part of the trace. */
  came(what: string): void;
}

/** The cloud of the simulation: the product's own hub, on a machine that may die. */
export interface CloudMachine {
  readonly machine: Machine;
  readonly blobs: MemoryBlobs;
  hub: Hub | null;
  /** The cloud's end of a new connection, null while it is down. */
  accept(wire: Wire, name: string): End | null;
  boot(): Promise<void>;
  backUp(): void;
  restore(): void;
  liveRows: Oracle["liveRows"];
}

/** Makes a cloud that is switched off. */
export function createCloudMachine(needs: CloudMachineNeeds): CloudMachine {
  const { time, dice, types, limits, oracle, figures, violated } = needs;
  const backups: { disk: Disk; timeline: ReturnType<Oracle["timeline"]> }[] = [];
  let mustAdopt = false;
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
      time.in(100 + dice.roll() * 3_000, () => void cloud.boot().catch(violated));
    },
  });

  const cloud: CloudMachine = {
    machine,
    blobs: needs.blobs,
    hub: null,
    async boot() {
      if (machine.life) return;
      const { store, clock } = machine.boot();
      if (mustAdopt) await store.transact(() => adoptRestored({ types, about: {}, now: clock.now(), newId: dice.id }));
      mustAdopt = false;
      const hub = createHub({
        ...{ store, clock, types, limits, blobs: needs.blobs, newId: dice.id, onFault: violated },
        onBadPeer() {},
      });
      await hub.start();
      cloud.hub = hub;
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
    backUp() {
      if (mustAdopt || !cloud.hub) return;
      backups.push({ disk: machine.disk.copy(), timeline: oracle.timeline() });
      if (backups.length > 3) backups.shift()?.disk.close();
    },
    restore() {
      const backup = backups.length > 0 ? dice.pick(backups) : null;
      if (!backup) return;
      figures.cloudRestores += 1;
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
