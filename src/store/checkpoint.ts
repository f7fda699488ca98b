import type Database from "better-sqlite3";

/** Moves what was committed from the write-ahead log into the database file. Never throws. */
export interface Checkpoint {
  /** True when enough lies in the log; takes 2 µs. */
  isDue(): boolean;
  /** Moves it if it is due, outside of any transaction, and says whether it was. */
  run(): boolean;
}

/** Pages of the log that are moved at once. own choice: 5 to 10 ms of work, as often as SQLite would do it by itself within a COMMIT */
const PAGES = 1_000;
/** Pages at which SQLite does it by itself, within a COMMIT: the start and other long transactions. own choice */
const PAGES_AT_MOST = 8_000;

interface Log {
  /** -1 for a database without a log. */
  log: number;
  checkpointed: number;
}

/** Takes checkpoints of `db` over. What can't be moved now stays in the log, where it is as safe, until more came in. */
export function createCheckpoint(db: Database.Database): Checkpoint {
  db.pragma(`wal_autocheckpoint = ${PAGES_AT_MOST}`);
  const look = db.prepare<[], Log>("PRAGMA wal_checkpoint(NOOP)");
  const move = db.prepare<[], Log>("PRAGMA wal_checkpoint(PASSIVE)");
  /** Pages that were left in the log by the last try. */
  let left = 0;
  const waiting = (statement: typeof look): number => {
    try {
      const { log, checkpointed } = statement.get() as Log;
      return log - checkpointed;
    } catch {
      // A full or broken disk is told by the next write.
      return left;
    }
  };
  const isDue = (): boolean => waiting(look) >= left + PAGES;
  return {
    isDue,
    run() {
      if (!isDue()) return false;
      const before = waiting(look);
      left = before;
      left = waiting(move);
      return true;
    },
  };
}
