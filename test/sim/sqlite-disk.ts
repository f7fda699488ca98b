import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { createEvents } from "../../src/base/events.ts";
import { silentLog } from "../../src/base/log.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../../src/replication/collections.ts";
import { createSqliteWork, tablesOf } from "../../src/replication/sqlite-work.ts";
import type { Work } from "../../src/replication/work.ts";
import { fullScope } from "../../src/store/full-scope.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { By, Store } from "../../src/store/store.ts";
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

/** Small pages, as so much is copied; the product leaves them as they are. */
const PAGE_BYTES = 1_024;

/** A folder with the product's tables and no rows. */
function emptyDatabase(root: string): string {
  const folder = join(root, "empty");
  mkdirSync(folder);
  const db = new Database(join(folder, "carillon.db"));
  db.pragma(`page_size = ${PAGE_BYTES}`);
  db.exec("VACUUM");
  db.close();
  void storeIn(folder, systemClock, thrown).close();
  return folder;
}

function storeIn(dataDir: string, clock: Clock, onFatal: (error: unknown) => void): Store {
  const events = createEvents(thrown);
  return openStore({ dataDir, catalogue: CATALOGUE, tables: TABLES, clock, events, log: silentLog, onFatal });
}

function thrown(error: unknown): never {
  throw error;
}

/** @source sqlite.org/fileformat2.html, 4.1: a header, then frames, each with the salt of the header it belongs to */
const [LOG_HEADER, FRAME_HEADER, SALT, FRAME_SALT, SALT_BYTES] = [32, 24, 16, 8, 8];

/** Copies a write-ahead log without what lies behind its end: frames of before it was begun anew, which nobody reads. */
function copyLog(from: string, to: string): void {
  if (!existsSync(from)) return;
  const log = readFileSync(from);
  const frameBytes = FRAME_HEADER + PAGE_BYTES;
  const isOfNow = (frame: number): boolean => {
    const at = LOG_HEADER + frame * frameBytes + FRAME_SALT;
    return log.compare(log, SALT, SALT + SALT_BYTES, at, at + SALT_BYTES) === 0;
  };
  let [low, high] = [0, Math.max(0, Math.floor((log.length - LOG_HEADER) / frameBytes))];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isOfNow(middle)) low = middle + 1;
    else high = middle;
  }
  writeFileSync(to, log.subarray(0, LOG_HEADER + low * frameBytes));
}

/** Disks of one run, with the product's own database on each. */
export function createSqliteDisks(): { make(): Disk; remove(): void } {
  // Without waiting for a real disk, where the machine has memory that looks like one.
  const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "carillon-sim-"));
  const empty = emptyDatabase(root);
  let made = 0;

  /** The files as a killed process would leave them. */
  function imageOf(folder: string): string {
    made += 1;
    const image = join(root, String(made));
    mkdirSync(image);
    for (const file of ["carillon.db", "secret-key"]) copyFileSync(join(folder, file), join(image, file));
    copyLog(join(folder, "carillon.db-wal"), join(image, "carillon.db-wal"));
    return image;
  }

  function disk(folder: string, clock: Clock): Disk {
    let isLost = false;
    const store = storeIn(folder, clock, (error) => {
      if (!isLost) throw error;
    });
    const work = createSqliteWork(store, CATALOGUE, BY);
    const self: Disk = {
      transact: async (job, performed) => {
        // What a killed process had not begun is never done, and what it did is told to nobody.
        const unlessLost = (): ReturnType<typeof job> => {
          if (isLost) throw new Error("The process is gone.");
          return performed ? noted(job(), performed) : job();
        };
        const never = new Promise<never>(() => {});
        return work.transact(unlessLost).then(
          (value) => (isLost ? never : value),
          (error) => (isLost ? never : Promise.reject(error)),
        );
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
        // Nobody reads it any more: without its log, which would be moved into it first, it is closed at once.
        truncateSync(join(folder, "carillon.db-wal"));
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
    make: () => kept(imageOf(empty)),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}
