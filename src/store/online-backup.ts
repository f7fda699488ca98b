import { closeSync, openSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type Database from "better-sqlite3";
import { BugError, UpstreamError } from "../lib/errors.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import type { WalBytes, WalCheckpointer } from "./wal-checkpoint.ts";

/** What the thread is started with. */
export interface BackupOrder {
  /** Descriptor of the database's file. */
  source: number;
  target: string;
}

/** What the thread is told: what lies in the log, and whether that is the end of it. */
export interface WalSegment {
  log: WalBytes;
  isLast: boolean;
}

/** What the thread tells: the file is copied and the end of the log is wanted; the copy is whole; or what went wrong. */
export type BackupProgress = "copied" | "whole" | { fault: string; isFull: boolean };

/** Copies the open database. */
export interface OnlineBackup {
  /**
   * Writes a copy to `path`, which must not exist, in a thread of its own; others read and write meanwhile. It has what
   * was committed before it began, and the later transactions up to one of them. Throws UpstreamError.
   */
  copyTo(path: string): Promise<void>;
  /** Once the database is closed: breaks off what is being copied. */
  close(): void;
}

/**
 * Copies the file while the log goes on being moved into it, which leaves pages of different times in the copy; what lay
 * in the log meanwhile is then written over them in its order, and they are of one time again. The main thread reads the
 * log, a few megabytes at a time. own choice: SQLite's own backup belongs to the thread that has the database, and its
 * last step writes out a cache and waits for the disk, 70 to 100 ms.
 */
export function createOnlineBackup(db: Database.Database, checkpoint: WalCheckpointer): OnlineBackup {
  // Kept open: to close any descriptor of the file gives up SQLite's lock on it. @source sqlite.org/howtocorrupt.html, 2.2
  let source: number | null = null;
  let running: Worker | null = null;
  return {
    async copyTo(path) {
      if (db.memory) throw new BugError("A database in memory can't be copied.");
      if (running) throw new BugError("The database is being copied already.");
      source ??= openSync(db.name, "r");
      const workerData: BackupOrder = { source, target: path };
      const worker = new Worker(workerEntry(import.meta.url, "./online-backup-worker"), { workerData });
      const send = (log: WalBytes, isLast: boolean): void =>
        worker.postMessage({ log, isLast } satisfies WalSegment, [log.buffer]);
      const hold = checkpoint.hold((log) => send(log, false));
      running = worker;
      try {
        await untilFinished(worker, () => send(hold.readRemaining(), true));
      } finally {
        hold.release();
        running = null;
        await worker.terminate();
      }
    },
    close() {
      void running?.terminate();
      if (source !== null) closeSync(source);
      source = null;
    },
  };
}

/** Resolves once the copy is whole; `sendRest` sends what is left in the log. */
function untilFinished(worker: Worker, sendRest: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (message: string, isFull = false): void =>
      reject(new UpstreamError(isFull ? "storage-full" : "upstream", message));
    worker.on("message", (progress: BackupProgress) => {
      if (progress === "whole") resolve();
      else if (progress !== "copied") failed(progress.fault, progress.isFull);
      else
        try {
          sendRest();
        } catch (error) {
          reject(error);
        }
    });
    worker.once("error", (error) => failed(`The database could not be copied: ${error.message}`));
    worker.once("exit", () => failed("The copy of the database was broken off."));
  });
}
