import { closeSync, fdatasyncSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { BugError } from "../lib/errors.ts";
import type { BackupOrder, BackupProgress, WalSegment } from "./online-backup.ts";
import { WAL_FRAME_HEADER_BYTES, WAL_HEADER_BYTES } from "./wal-checkpoint.ts";

/** Entry of the thread that copies the open database; how is said where it is started. */
async function runBackup({ source, target }: BackupOrder, port: MessagePort): Promise<void> {
  const tell = (progress: BackupProgress): void => port.postMessage(progress);
  const failed = (error: unknown): void => {
    const { code, message } = error as NodeJS.ErrnoException;
    tell({ fault: `The database could not be copied: ${message}`, isFull: code === "ENOSPC" || code === "EDQUOT" });
  };
  const file = openSync(target, "wx+", 0o600);
  const parts = openWalSegments(`${target}-log`);
  port.on("message", ({ log, isLast }: WalSegment) => {
    try {
      parts.add(log);
      if (!isLast) return;
      for (const part of parts.all()) applyWal(file, part);
      fdatasyncSync(file);
      closeSync(file);
      parts.remove();
      tell("whole");
    } catch (error) {
      failed(error);
    }
  });
  try {
    await copyDatabaseFile(source, file);
    tell("copied");
  } catch (error) {
    failed(error);
  }
}

/** Written at once and then waited for: a COMMIT that comes then waits for no more than that. own choice: with 1 MiB the longest wait of a COMMIT was twice as long */
const CHUNK_BYTES = 256 * 1_024;

/** Copies what there is, with a look at the messages after each piece. */
async function copyDatabaseFile(source: number, target: number): Promise<void> {
  const piece = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  for (let at = 0; ; ) {
    const read = readSync(source, piece, 0, piece.length, at);
    if (read === 0) return;
    writeFully(target, piece.subarray(0, read), at);
    fdatasyncSync(target);
    at += read;
    await turn();
  }
}

interface WalSegments {
  add(log: Uint8Array): void;
  /** In the order of their coming. */
  all(): Generator<Buffer>;
  remove(): void;
}

/** Parts of the log, kept in a file until they are wanted: there may be more of them than memory. */
function openWalSegments(path: string): WalSegments {
  const file = openSync(path, "wx+", 0o600);
  const sizes: number[] = [];
  let end = 0;
  return {
    add(log) {
      writeFully(file, log, end);
      sizes.push(log.length);
      end += log.length;
    },
    *all() {
      let at = 0;
      for (const size of sizes) {
        const part = Buffer.allocUnsafeSlow(size);
        if (readSync(file, part, 0, size, at) !== size) throw new BugError("A part of the log is gone.");
        at += size;
        yield part;
      }
    },
    remove() {
      closeSync(file);
      rmSync(path);
    },
  };
}

/** Writes the pages of a log where they belong, and cuts the file to the length that its last transaction left. */
function applyWal(file: number, log: Buffer): void {
  if (log.length === 0) return;
  const pageBytes = log.readUInt32BE(8);
  let pages = 0;
  for (let at = WAL_HEADER_BYTES; at < log.length; at += WAL_FRAME_HEADER_BYTES + pageBytes) {
    const begin = at + WAL_FRAME_HEADER_BYTES;
    writeFully(file, log.subarray(begin, begin + pageBytes), (log.readUInt32BE(at) - 1) * pageBytes);
    pages = log.readUInt32BE(at + 4) || pages;
  }
  ftruncateSync(file, pages * pageBytes);
  fdatasyncSync(file);
}

function writeFully(file: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, position + at);
}

if (!parentPort) throw new BugError("The thread that copies was started outside a worker.");
await runBackup(workerData as BackupOrder, parentPort);
