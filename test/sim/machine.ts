import type { Clock } from "../../src/base/clock.ts";
import type { Statement, Work, WorkStore } from "../../src/replication/work.ts";
import type { Dice } from "./dice.ts";
import { type ClockFault, clockOf, type VirtualTime } from "./virtual-time.ts";

/** A statement that was performed, and its answer. */
export interface Performed {
  statement: Statement;
  answer: unknown;
}

/** The disk of a machine: what is committed stays, whatever happens to the process. */
export interface Disk {
  /** Performs work at once or soon, noting all that it does; resolves once it is durable. */
  transact<T>(work: () => Work<T>, performed?: Performed[]): Promise<T>;
  /** Reads without any delay, for whoever watches. */
  peek<T>(work: () => Work<T>): T;
  /** What a new process finds after the one before was killed. */
  reopened(clock: Clock): Disk;
  /** A backup as it is now. */
  copy(): Disk;
  close(): void;
}

/** One life of a process. */
export interface Life {
  isAlive: boolean;
  clock: Clock;
  store: WorkStore;
}

/** A machine whose process lives several lives on one disk. */
export interface Machine {
  disk: Disk;
  life: Life | null;
  fault: ClockFault;
  crashes: number;
  /** The process ends in this many commits, before or after one of them. */
  crashIn: number | null;
  /** Begins a life. */
  boot(): Life;
  crash(): void;
}

/** What a machine needs. */
export interface MachineNeeds {
  time: VirtualTime;
  dice: Dice;
  disk: Disk;
  fault: ClockFault;
  /** A transaction was committed. */
  committed(performed: readonly Performed[]): void;
  crashed(): void;
}

/** Makes a machine that is switched off. */
export function createMachine({ time, dice, disk, fault, committed, crashed }: MachineNeeds): Machine {
  const machine: Machine = {
    disk,
    life: null,
    fault,
    crashes: 0,
    crashIn: null,
    boot() {
      const life: Life = {
        isAlive: true,
        clock: clockOf(time, machine.fault, () => life.isAlive),
        store: { transact, read },
      };
      let free = 0;
      function transact<T>(work: () => Work<T>): Promise<T> {
        return new Promise((resolve, reject) => {
          free = Math.max(free, time.now() + dice.roll() * 3);
          time.at(free, () => void commit(work).then(resolve, reject));
        });
      }
      /** It takes its time, as from a database across a network, but neither waits nor is it waited for. */
      function read<T>(work: () => Work<T>): Promise<T> {
        return new Promise((resolve, reject) => {
          time.in(dice.roll(), () => {
            if (!life.isAlive) return;
            try {
              resolve(machine.disk.peek(work));
            } catch (error) {
              reject(error);
            }
          });
        });
      }
      async function commit<T>(work: () => Work<T>): Promise<T> {
        const never = new Promise<T>(() => {});
        if (!life.isAlive) return never;
        const isLast = machine.crashIn !== null && --machine.crashIn <= 0;
        if (isLast && dice.happens(0.5)) {
          machine.crash();
          return never;
        }
        const performed: Performed[] = [];
        const value = await machine.disk.transact(work, performed);
        committed(performed);
        if (isLast) machine.crash();
        return life.isAlive ? value : never;
      }
      machine.disk = machine.disk.reopened(life.clock);
      machine.life = life;
      return life;
    },
    crash() {
      machine.crashIn = null;
      if (!machine.life) return;
      machine.life.isAlive = false;
      machine.life = null;
      machine.crashes += 1;
      crashed();
    },
  };
  return machine;
}
