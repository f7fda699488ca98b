import { closeSync, openSync, readSync } from "node:fs";
import type Database from "better-sqlite3";
import { UpstreamError } from "../lib/errors.ts";

/** Bytes of the WAL file, header first; empty when there is no WAL. */
export type WalBytes = Uint8Array<ArrayBuffer>;

/** A holder that receives the WAL before each checkpoint. */
export interface WalHold {
  /** The current WAL. Throws if it cannot be read now, or could not be read before an earlier checkpoint. */
  readRemaining(): WalBytes;
  /** Ends the hold. */
  release(): void;
}

/** Checkpoints the write-ahead log (WAL) into the database file. Never throws. */
export interface WalCheckpointer {
  /** True when the WAL has enough pages; takes 2 µs. */
  isDue(): boolean;
  /** Runs a checkpoint if one is due; call it outside of transactions. True if it ran. */
  run(): boolean;
  /** From now on `keep` receives the WAL before each checkpoint. One holder at a time. */
  hold(keep: (log: WalBytes) => void): WalHold;
}

/** WAL pages per checkpoint: 5 to 10 ms of work; SQLite's default for automatic checkpoints. */
const CHECKPOINT_PAGES = 1_000;
/** WAL pages at which SQLite checkpoints automatically inside a COMMIT, for long transactions such as the start. */
const MAX_WAL_PAGES = 8_000;

interface WalStatus {
  /** Pages in the WAL; -1 for a database without one. */
  log: number;
  checkpointed: number;
}

/** Bytes of the WAL header. @source sqlite.org/fileformat2.html, 4.1 */
export const WAL_HEADER_BYTES = 32;
/** Bytes of the header of each WAL frame. @source sqlite.org/fileformat2.html, 4.1 */
export const WAL_FRAME_HEADER_BYTES = 24;

/**
 * Takes over the checkpoints of `db`. Pages that cannot be checkpointed now stay in the WAL, where they are just as
 * durable.
 */
export function createWalCheckpointer(db: Database.Database): WalCheckpointer {
  db.pragma(`wal_autocheckpoint = ${MAX_WAL_PAGES}`);
  const readStatus = db.prepare<[], WalStatus>("PRAGMA wal_checkpoint(NOOP)");
  const runCheckpoint = db.prepare<[], WalStatus>("PRAGMA wal_checkpoint(PASSIVE)");
  const pageBytes = Number(db.pragma("page_size", { simple: true }));
  /** WAL pages that the last checkpoint left. */
  let remainingPages = 0;
  let keep: ((log: WalBytes) => void) | null = null;
  let readError: unknown = null;
  const pendingPages = (statement: typeof readStatus): number => {
    try {
      const { log, checkpointed } = statement.get() as WalStatus;
      return log - checkpointed;
    } catch {
      // The next write reports a full or failed disk.
      return remainingPages;
    }
  };
  const readWal = (): WalBytes => {
    const { log } = readStatus.get() as WalStatus;
    return log > 0
      ? readStart(`${db.name}-wal`, WAL_HEADER_BYTES + log * (WAL_FRAME_HEADER_BYTES + pageBytes))
      : new Uint8Array(0);
  };
  /** A read error fails the holder, not the checkpoint. */
  const notifyHolder = (): void => {
    try {
      keep?.(readWal());
    } catch (error) {
      readError = error;
      keep = null;
    }
  };
  const isDue = (): boolean => pendingPages(readStatus) >= remainingPages + CHECKPOINT_PAGES;
  return {
    isDue,
    run() {
      if (!isDue()) return false;
      const before = pendingPages(readStatus);
      remainingPages = before;
      notifyHolder();
      remainingPages = pendingPages(runCheckpoint);
      return true;
    },
    hold(onWal) {
      // An automatic checkpoint inside a COMMIT would bypass the holder.
      db.pragma("wal_autocheckpoint = 0");
      [keep, readError] = [onWal, null];
      return {
        readRemaining() {
          if (readError !== null) throw readError;
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
      if (read === 0) throw new UpstreamError("upstream", "The WAL file is shorter than its header says.");
      at += read;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}
