import type { Clock } from "../../src/lib/clock.ts";
import type {
  StoreOperation,
  TransactionProgram,
  TransactionStore,
} from "../../src/sync/storage/transaction-program.ts";
import type { RandomSource } from "./seeded-random.ts";
import { type ClockFault, clockOf, type VirtualTime } from "./virtual-time.ts";

/** A statement that was performed, and its answer. */
export interface ExecutedOperation {
  statement: StoreOperation;
  answer: unknown;
}

/**
 * When a connection to a database breaks: a COMMIT does not arrive, or the word that it was done does not, or that and then
 * the next one, when it is asked whether it was.
 */
export type ConnectionCutPoint = "before-commit" | "after-commit" | "in-doubt";

/** A process that serves what lies in a database across a network, as one of several that may. */
export interface DatabaseNode {
  /** Resolves when another one acts in its place. */
  readonly lost: Promise<void>;
  /** False when the database was not heard of for so long that another one may act. */
  isHeard(): boolean;
  /** Forgets rows that are gone, but so many. */
  forgetGone(kept: number): Promise<void>;
  /** The connection that says COMMIT next breaks then, of which `broke` is told. */
  cutAt(when: ConnectionCutPoint, broke: () => void): void;
  /** All its connections break; with `isLet` false, it makes none any more. */
  breakAll(isLet: boolean): void;
  /** The one connection breaks by which it acts, so that another one may at once; its others do, and are slow. */
  loseLock(): void;
}

/** The disk of a machine: what is committed stays, whatever happens to the process. */
export interface Disk {
  /**
   * Performs work at once or soon; resolves once it is durable. Whatever it did is told as soon as no power cut takes it
   * back, whether the process lives to hear of it or not.
   */
  transact<T>(
    work: () => TransactionProgram<T>,
    committed?: (performed: readonly ExecutedOperation[]) => void,
  ): Promise<T>;
  /** Reads as the process does, where that is not at once. */
  read?<T>(work: () => TransactionProgram<T>): Promise<T>;
  /** Reads without any delay, for whoever watches. */
  peek<T>(work: () => TransactionProgram<T>): T;
  /** The process that has it open, once it may write, where others may, too. */
  readonly node?: Promise<DatabaseNode>;
  /** The process ended, and whatever it had open with it. */
  killed?(): void;
  /** A row that a process has otherwise than all others would, where they have copies of the same; null for none. */
  differs?(): Promise<string | null>;
  /** For another process, while the one that has it open goes on; absent where there is never another one. */
  left?(): Disk;
  /** What a new process finds after the one before was killed. */
  reopened(clock: Clock): Disk;
  /** A backup as it is now. */
  copy(): Disk;
  close(): void;
}

/** One life of a process. */
export interface ProcessLifetime {
  isAlive: boolean;
  disk: Disk;
  clock: Clock;
  store: TransactionStore;
}

/** A machine whose process lives several lives on one disk. */
export interface SimulatedMachine {
  disk: Disk;
  life: ProcessLifetime | null;
  fault: ClockFault;
  crashes: number;
  /** The process ends in this many commits, before or after one of them. */
  crashIn: number | null;
  /** Begins a life. */
  boot(): ProcessLifetime;
  /** The process goes on elsewhere, and another one may begin on the disk. */
  leave(): void;
  crash(): void;
}

/** What a machine needs. */
export interface MachineDeps {
  time: VirtualTime;
  dice: RandomSource;
  disk: Disk;
  fault: ClockFault;
  /** A transaction was committed. */
  committed(performed: readonly ExecutedOperation[]): void;
  crashed(): void;
}

/** Makes a machine that is switched off. */
export function createMachine({ time, dice, disk, fault, committed, crashed }: MachineDeps): SimulatedMachine {
  const machine: SimulatedMachine = {
    disk,
    life: null,
    fault,
    crashes: 0,
    crashIn: null,
    boot() {
      const life: ProcessLifetime = {
        isAlive: true,
        disk: machine.disk,
        clock: clockOf(time, machine.fault, () => life.isAlive),
        store: { transact, read },
      };
      life.disk = machine.disk.reopened(life.clock);
      let free = 0;
      function transact<T>(work: () => TransactionProgram<T>): Promise<T> {
        return new Promise((resolve, reject) => {
          free = Math.max(free, time.now() + dice.next() * 3);
          time.at(free, () => void commit(work).then(resolve, reject));
        });
      }
      /** It takes its time, as from a database across a network, but neither waits nor is it waited for. */
      function read<T>(work: () => TransactionProgram<T>): Promise<T> {
        return new Promise((resolve, reject) => {
          time.in(dice.next(), () => {
            if (!life.isAlive) return;
            const { disk } = life;
            if (disk.read) return void disk.read(work).then((value) => life.isAlive && resolve(value), reject);
            try {
              resolve(disk.peek(work));
            } catch (error) {
              reject(error);
            }
          });
        });
      }
      async function commit<T>(work: () => TransactionProgram<T>): Promise<T> {
        const never = new Promise<T>(() => {});
        if (!life.isAlive) return never;
        const isLast = machine.life === life && machine.crashIn !== null && --machine.crashIn <= 0;
        if (isLast && dice.happens(0.5)) {
          machine.crash();
          return never;
        }
        const value = await life.disk.transact(work, committed);
        if (isLast && machine.life === life) machine.crash();
        return life.isAlive ? value : never;
      }
      machine.disk = life.disk;
      machine.life = life;
      return life;
    },
    leave() {
      machine.crashIn = null;
      machine.disk = machine.disk.left?.() ?? machine.disk;
      machine.life = null;
    },
    crash() {
      machine.crashIn = null;
      if (!machine.life) return;
      machine.life.isAlive = false;
      machine.disk.killed?.();
      machine.life = null;
      machine.crashes += 1;
      crashed();
    },
  };
  return machine;
}
