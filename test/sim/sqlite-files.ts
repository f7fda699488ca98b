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
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createEvents } from "../../src/lib/events.ts";
import { silentLog } from "../../src/lib/log.ts";
import { fullScope } from "../../src/store/full-scope.ts";
import { SHARED_POSITION } from "../../src/store/key-fingerprint.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { SharedLog } from "../../src/store/shared-log.ts";
import type { ActorContext, Store } from "../../src/store/store.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../../src/sync/storage/collections.ts";
import {
  collectionTables,
  createSqliteProgramRunner,
  type SqliteProgramRunner,
} from "../../src/sync/storage/sqlite-program-runner.ts";
import { CATALOGUE } from "./resources.ts";

const TABLES = collectionTables([...SITE_COLLECTIONS, ...HUB_COLLECTIONS]);
const BY: ActorContext = {
  actor: { kind: "system", userId: null, name: "replication", address: null },
  scope: fullScope(() => null),
};

/** The product's own database in a folder, and how replication works on it. */
export interface SqliteFolder {
  store: Store;
  work: SqliteProgramRunner;
}

/** Folders of one run, each with the product's own database. */
export interface SqliteFiles {
  /** One with the product's tables and no rows; a process uses an image of it. */
  readonly empty: string;
  /** The files as a killed process would leave them, in a folder of their own. */
  imageOf(folder: string): string;
  /** Opens it as a process does; rows come from `shared`, too, where that is given. */
  open(folder: string, clock: Clock, onFatal: (error: unknown) => void, shared?: SharedLog): SqliteFolder;
  /** Up to where one that no process uses has the rows of others. */
  copiedUpTo(folder: string): number;
  /** Its process was killed: whatever it had not written is gone, and so is the folder. */
  abandon(folder: string, { store }: SqliteFolder): void;
  remove(): void;
}

/** Small pages, as so much is copied; the product leaves them as they are. */
const PAGE_BYTES = 1_024;

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

function open(
  dataDir: string,
  clock: Clock,
  onFatal: (error: unknown) => void,
  shared: SharedLog | undefined,
): SqliteFolder {
  const events = createEvents(thrown);
  const of = { dataDir, catalogue: CATALOGUE, tables: TABLES, clock, events, log: silentLog, onFatal };
  const store = openStore({ ...of, ...(shared ? { shared } : {}) });
  return { store, work: createSqliteProgramRunner(store, CATALOGUE, BY, () => null) };
}

/** Makes a place for them, with an empty one in it. */
export function createSqliteFiles(): SqliteFiles {
  // Without waiting for a real disk, where the machine has memory that looks like one.
  const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "carillon-sim-"));
  const empty = join(root, "empty");
  mkdirSync(empty);
  const db = new Database(join(empty, "carillon.db"));
  db.pragma(`page_size = ${PAGE_BYTES}`);
  db.exec("VACUUM");
  db.close();
  void open(empty, systemClock, thrown, undefined).store.close();
  let made = 0;

  return {
    empty,
    imageOf(folder) {
      made += 1;
      const image = join(root, String(made));
      mkdirSync(image);
      for (const file of ["carillon.db", "secret-key"]) copyFileSync(join(folder, file), join(image, file));
      copyLog(join(folder, "carillon.db-wal"), join(image, "carillon.db-wal"));
      return image;
    },
    open: (folder, clock, onFatal, shared) => open(folder, clock, onFatal, shared),
    copiedUpTo(folder) {
      const db = new Database(join(folder, "carillon.db"));
      const at = db.prepare("SELECT value FROM store_meta WHERE name = ?").pluck().get(SHARED_POSITION);
      db.close();
      return Number(at ?? 0);
    },
    abandon(folder, { store }) {
      // Nobody reads it any more: without its log, which would be moved into it first, it is closed at once.
      truncateSync(join(folder, "carillon.db-wal"));
      void store.close();
      rmSync(folder, { recursive: true, force: true });
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}
