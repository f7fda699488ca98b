import { closeSync, fdatasyncSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { BugError } from "../base/errors.ts";
import { LOG_FRAME_HEADER_BYTES, LOG_HEADER_BYTES } from "./checkpoint.ts";
import type { CopyOrder, CopyProgress, LogPart } from "./live-copy.ts";

/** Entry of the thread that copies the open database; how is said where it is started. */
async function copy({ source, target }: CopyOrder, port: MessagePort): Promise<void> {
  const tell = (progress: CopyProgress): void => port.postMessage(progress);
  const failed = (error: unknown): void => {
    const { code, message } = error as NodeJS.ErrnoException;
    tell({ fault: `The database could not be copied: ${message}`, isFull: code === "ENOSPC" || code === "EDQUOT" });
  };
  const file = openSync(target, "wx+", 0o600);
  const parts = openParts(`${target}-log`);
  port.on("message", ({ log, isLast }: LogPart) => {
    try {
      parts.add(log);
      if (!isLast) return;
      for (const part of parts.all()) writeOver(file, part);
      fdatasyncSync(file);
      closeSync(file);
      parts.remove();
      tell("whole");
    } catch (error) {
      failed(error);
    }
  });
  try {
    await copyFile(source, file);
    tell("copied");
  } catch (error) {
    failed(error);
  }
}

/** Written at once and then waited for: a COMMIT that comes then waits for no more than that. own choice: with 1 MiB the longest wait of a COMMIT was twice as long */
const PIECE_BYTES = 256 * 1_024;

/** Copies what there is, with a look at the messages after each piece. */
async function copyFile(source: number, target: number): Promise<void> {
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  for (let at = 0; ; ) {
    const read = readSync(source, piece, 0, piece.length, at);
    if (read === 0) return;
    writeFully(target, piece.subarray(0, read), at);
    fdatasyncSync(target);
    at += read;
    await turn();
  }
}

interface Parts {
  add(log: Uint8Array): void;
  /** In the order of their coming. */
  all(): Generator<Buffer>;
  remove(): void;
}

/** Parts of the log, kept in a file until they are wanted: there may be more of them than memory. */
function openParts(path: string): Parts {
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
function writeOver(file: number, log: Buffer): void {
  if (log.length === 0) return;
  const pageBytes = log.readUInt32BE(8);
  let pages = 0;
  for (let at = LOG_HEADER_BYTES; at < log.length; at += LOG_FRAME_HEADER_BYTES + pageBytes) {
    const begin = at + LOG_FRAME_HEADER_BYTES;
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
await copy(workerData as CopyOrder, parentPort);
