import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { createEvents } from "../../src/base/events.ts";
import { silentLog } from "../../src/base/log.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../../src/replication/collections.ts";
import { createSqliteWork, tablesOf } from "../../src/replication/sqlite-work.ts";
import type { Work } from "../../src/replication/work.ts";
import { fullScope } from "../../src/store/full-scope.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { By } from "../../src/store/store.ts";
import type { Disk, Performed } from "./machine.ts";
import { CATALOGUE } from "./resources.ts";

const TABLES = tablesOf([...SITE_COLLECTIONS, ...HUB_COLLECTIONS]);
const BY: By = {
  actor: { kind: "system", userId: null, name: "replication", address: null },
  scope: fullScope(() => null),
};

/** The work, with a note of all that it did. */
function* noted<T>(work: Work<T>, performed: Performed[]): Work<T> {
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
  // Without waiting for a real disk, where the machine has memory that looks like one.
  const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "carillon-sim-"));
  let made = 0;

  /** The files as a killed process would leave them. */
  function imageOf(folder: string | null): string {
    made += 1;
    const image = mkdtempSync(join(root, `${made}-`));
    for (const file of ["carillon.db", "carillon.db-wal", "secret-key"]) {
      if (folder && existsSync(join(folder, file))) copyFileSync(join(folder, file), join(image, file));
    }
    return image;
  }

  function disk(folder: string, clock: Clock): Disk {
    const events = createEvents((error) => {
      throw error;
    });
    const log = silentLog;
    const onFatal = (error: unknown): void => {
      throw error;
    };
    const store = openStore({ dataDir: folder, catalogue: CATALOGUE, tables: TABLES, clock, events, log, onFatal });
    const work = createSqliteWork(store, CATALOGUE, BY);
    let isLost = false;
    const self: Disk = {
      // What a killed process had not yet committed is written when its store is closed, into files that are thrown away.
      transact: async (job, performed) => {
        const value = await work.transact(performed ? () => noted(job(), performed) : job);
        return isLost ? new Promise(() => {}) : value;
      },
      peek: work.peek,
      reopened(next) {
        const image = imageOf(folder);
        self.close();
        return disk(image, next);
      },
      copy: () => kept(imageOf(folder)),
      close() {
        isLost = true;
        void store.close();
        rmSync(folder, { recursive: true, force: true });
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
      transact: (work, performed) => open().transact(work, performed),
      peek: (work) => open().peek(work),
      reopened: (clock) => opened?.reopened(clock) ?? disk(folder, clock),
      copy: () => kept(imageOf(folder)),
      close: () => (opened ? opened.close() : rmSync(folder, { recursive: true, force: true })),
    };
  }

  return {
    make: () => kept(imageOf(null)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}
