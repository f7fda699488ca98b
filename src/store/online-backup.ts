import { closeSync, openSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type Database from "better-sqlite3";
import { BugError, UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import type { WalBytes, WalCheckpointer } from "./wal-checkpoint.ts";

/** Start data of the worker thread. */
export interface BackupRequest {
  /** File descriptor of the database. */
  source: number;
  target: string;
}

/** Message to the worker: bytes of the WAL, and whether they are the last ones. */
export interface WalSegment {
  log: WalBytes;
  isLast: boolean;
}

/**
 * Message from the worker: `copied` asks for the end of the WAL; `whole` reports a complete copy; otherwise the error.
 */
export type BackupProgress = "copied" | "whole" | { error: string; isFull: boolean };

/** Copies the database while it is open. */
export interface OnlineBackup {
  /**
   * Writes a copy to `path`, which must not exist, in a worker thread; reads and writes go on. The copy holds every
   * transaction committed before the call and a prefix of the later ones. Throws UpstreamError.
   */
  copyTo(path: string): Promise<void>;
  /** Aborts a running copy. Call it after the database is closed. */
  close(): void;
}

/**
 * Copies the database file while WAL checkpoints go on, so the copied pages belong to different times. The WAL frames
 * written during the copy are then applied over it in order, which makes the copy consistent. The main thread reads the
 * WAL a few megabytes at a time. SQLite's backup API is not used: it runs on the thread that owns the database, and its
 * last step blocks for 70 to 100 ms.
 * @source docs/decisions/0404-store-limits.md, Backup
 */
export function createOnlineBackup(db: Database.Database, checkpoint: WalCheckpointer): OnlineBackup {
  // Stays open: closing any descriptor of the file drops SQLite's lock on it. @source sqlite.org/howtocorrupt.html, 2.2
  let source: number | null = null;
  let running: Worker | null = null;
  return {
    async copyTo(path) {
      if (db.memory) throw new BugError("An in-memory database cannot be copied.");
      if (running) throw new BugError("A copy of the database is already running.");
      source ??= openSync(db.name, "r");
      const workerData: BackupRequest = { source, target: path };
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

/** Resolves once the copy is complete; `sendRest` sends the remaining WAL. */
function untilFinished(worker: Worker, sendRest: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (message: string, isFull = false): void =>
      reject(new UpstreamError(isFull ? "storage-full" : "upstream", message));
    worker.on("message", (progress: BackupProgress) => {
      if (progress === "whole") resolve();
      else if (progress !== "copied") failed(progress.error, progress.isFull);
      else
        try {
          sendRest();
        } catch (error) {
          reject(error);
        }
    });
    worker.once("error", (error) => failed(sentence("backup.copy-failed", { reason: error.message })));
    worker.once("exit", () => failed(sentence("backup.copy-aborted")));
  });
}
