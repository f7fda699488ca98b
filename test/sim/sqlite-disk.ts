import { rmSync } from "node:fs";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { TransactionProgram } from "../../src/sync/storage/transaction-program.ts";
import type { Disk, ExecutedOperation } from "./machine.ts";
import { createSqliteFiles } from "./sqlite-files.ts";

/** The work, with a note of all that it did. */
export function* recordOperations<T>(
  work: TransactionProgram<T>,
  performed: ExecutedOperation[],
): TransactionProgram<T> {
  let step = work.next();
  while (!step.done) {
    const answer: unknown = yield step.value;
    performed.push({ statement: step.value, answer });
    step = work.next(answer);
  }
  return step.value;
}

/** Disks of one run, with the product's own database on each. */
export function createSqliteDisks(): { make(): Disk; remove(): void } {
  const files = createSqliteFiles();

  function disk(folder: string, clock: Clock): Disk {
    let isLost = false;
    const opened = files.open(folder, clock, (error) => {
      if (!isLost) throw error;
    });
    const { work } = opened;
    const self: Disk = {
      transact: async (job, committed) => {
        const performed: ExecutedOperation[] = [];
        // What a killed process had not begun is never done, and what it did is told to nobody.
        const unlessLost = (): ReturnType<typeof job> => {
          if (isLost) throw new Error("The process is gone.");
          return committed ? recordOperations(job(), performed) : job();
        };
        const never = new Promise<never>(() => {});
        return work.transact(unlessLost).then(
          (value) => {
            if (isLost) return never;
            committed?.(performed);
            return value;
          },
          (error) => (isLost ? never : Promise.reject(error)),
        );
      },
      peek: work.readSync,
      reopened(next) {
        const image = files.imageOf(folder);
        self.close();
        return disk(image, next);
      },
      copy: () => kept(files.imageOf(folder)),
      close() {
        isLost = true;
        files.abandon(folder, opened);
      },
    };
    return self;
  }

  /** A folder that no process uses. */
  function kept(folder: string): Disk {
    let opened: Disk | null = null;
    const open = (): Disk => {
      opened ??= disk(folder, systemClock);
      return opened;
    };
    return {
      transact: (work, committed) => open().transact(work, committed),
      peek: (work) => open().peek(work),
      reopened: (clock) => opened?.reopened(clock) ?? disk(folder, clock),
      copy: () => kept(files.imageOf(folder)),
      close: () => (opened ? opened.close() : rmSync(folder, { recursive: true, force: true })),
    };
  }

  return { make: () => kept(files.imageOf(files.empty)), remove: files.remove };
}
