import { closeSync, openSync, readSync } from "node:fs";
import type Database from "better-sqlite3";
import { UpstreamError } from "../lib/errors.ts";

/** A log file's bytes, its header first; none when nothing lies there. */
export type WalBytes = Uint8Array<ArrayBuffer>;

/** Somebody gets what lies in the log before it is moved. */
export interface WalHold {
  /** What lies there now. Throws what kept the log from being read, now or before. */
  readRemaining(): WalBytes;
  /** Nobody gets it any more. */
  release(): void;
}

/** Moves what was committed from the write-ahead log into the database file. Never throws. */
export interface WalCheckpointer {
  /** True when enough lies in the log; takes 2 µs. */
  isDue(): boolean;
  /** Moves it if it is due, outside of any transaction, and says whether it was. */
  run(): boolean;
  /** From now on `keep` gets all that lies in the log before any of it is moved. One at a time. */
  hold(keep: (log: WalBytes) => void): WalHold;
}

/** Pages of the log that are moved at once. own choice: 5 to 10 ms of work, as often as SQLite would do it by itself within a COMMIT */
const CHECKPOINT_PAGES = 1_000;
/** Pages at which SQLite does it by itself, within a COMMIT: the start and other long transactions. own choice */
const MAX_WAL_PAGES = 8_000;

interface WalStatus {
  /** -1 for a database without a log. */
  log: number;
  checkpointed: number;
}

/** What stands before the first page of the log. @source sqlite.org/fileformat2.html, 4.1 */
export const WAL_HEADER_BYTES = 32;
/** What stands before each page of the log. @source the same */
export const WAL_FRAME_HEADER_BYTES = 24;

/** Takes checkpoints of `db` over. What can't be moved now stays in the log, where it is as safe, until more came in. */
export function createWalCheckpointer(db: Database.Database): WalCheckpointer {
  db.pragma(`wal_autocheckpoint = ${MAX_WAL_PAGES}`);
  const readStatus = db.prepare<[], WalStatus>("PRAGMA wal_checkpoint(NOOP)");
  const runCheckpoint = db.prepare<[], WalStatus>("PRAGMA wal_checkpoint(PASSIVE)");
  const pageBytes = Number(db.pragma("page_size", { simple: true }));
  /** Pages that were left in the log by the last try. */
  let left = 0;
  let keep: ((log: WalBytes) => void) | null = null;
  let unread: unknown = null;
  const pendingPages = (statement: typeof readStatus): number => {
    try {
      const { log, checkpointed } = statement.get() as WalStatus;
      return log - checkpointed;
    } catch {
      // A full or broken disk is told by the next write.
      return left;
    }
  };
  const readWal = (): WalBytes => {
    const { log } = readStatus.get() as WalStatus;
    return log > 0
      ? readStart(`${db.name}-wal`, WAL_HEADER_BYTES + log * (WAL_FRAME_HEADER_BYTES + pageBytes))
      : new Uint8Array(0);
  };
  /** A log that can't be read is no reason to leave it where it is. */
  const notifyHolder = (): void => {
    try {
      keep?.(readWal());
    } catch (error) {
      unread = error;
      keep = null;
    }
  };
  const isDue = (): boolean => pendingPages(readStatus) >= left + CHECKPOINT_PAGES;
  return {
    isDue,
    run() {
      if (!isDue()) return false;
      const before = pendingPages(readStatus);
      left = before;
      notifyHolder();
      left = pendingPages(runCheckpoint);
      return true;
    },
    hold(take) {
      // Nothing may be moved within a COMMIT, behind the back of whoever holds it.
      db.pragma("wal_autocheckpoint = 0");
      [keep, unread] = [take, null];
      return {
        readRemaining() {
          if (unread !== null) throw unread;
          return readWal();
        },
        release() {
          keep = null;
          if (db.open) db.pragma(`wal_autocheckpoint = ${MAX_WAL_PAGES}`);
        },
      };
    },
  };
}

function readStart(path: string, size: number): WalBytes {
  const bytes = new Uint8Array(size);
  const file = openSync(path, "r");
  try {
    for (let at = 0; at < size; ) {
      const read = readSync(file, bytes, at, size - at, at);
      if (read === 0) throw new UpstreamError("upstream", "The database's log is shorter than it should be.");
      at += read;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}
