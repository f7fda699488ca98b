import { closeSync, fdatasyncSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { BugError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { BackupProgress, BackupRequest, WalSegment } from "./online-backup.ts";
import { WAL_FRAME_HEADER_BYTES, WAL_HEADER_BYTES } from "./wal-checkpoint.ts";

/** Worker thread that copies the open database; the protocol is described in `online-backup.ts`. */
async function runBackup({ source, target }: BackupRequest, port: MessagePort): Promise<void> {
  const report = (progress: BackupProgress): void => port.postMessage(progress);
  const failed = (error: unknown): void => {
    const { code, message } = error as NodeJS.ErrnoException;
    report({
      error: sentence("backup.copy-failed", { reason: message }),
      isFull: code === "ENOSPC" || code === "EDQUOT",
    });
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
      report("whole");
    } catch (error) {
      failed(error);
    }
  });
  try {
    await copyDatabaseFile(source, file);
    report("copied");
  } catch (error) {
    failed(error);
  }
}

/**
 * Bytes written per fdatasync. A COMMIT waits for at most one of these; with 1 MiB its longest wait was twice as long.
 */
const CHUNK_BYTES = 256 * 1_024;

/** Copies the file; handles waiting messages after each chunk. */
async function copyDatabaseFile(source: number, target: number): Promise<void> {
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  for (let at = 0; ; ) {
    const read = readSync(source, chunk, 0, chunk.length, at);
    if (read === 0) return;
    writeFully(target, chunk.subarray(0, read), at);
    fdatasyncSync(target);
    at += read;
    await turn();
  }
}

interface WalSegments {
  add(log: Uint8Array): void;
  /** In order of arrival. */
  all(): Generator<Buffer>;
  remove(): void;
}

/** WAL segments, buffered in a file because they may exceed memory. */
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
        if (readSync(file, part, 0, size, at) !== size) throw new BugError("A buffered WAL segment is incomplete.");
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

/** Writes the pages of a WAL segment to their offsets and truncates the file to the size after its last transaction. */
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

if (!parentPort) throw new BugError("The online backup worker must run in a worker thread.");
await runBackup(workerData as BackupRequest, parentPort);
