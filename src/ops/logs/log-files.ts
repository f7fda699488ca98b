import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  write,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { DestinationStream } from "pino";

/** A file of the log takes so much before the next one is begun, and so many are kept. own choice: 60 MiB in all */
const MOST_BYTES = 10 * 1_048_576;
const MAX_FILES = 6;

/** Where the log lies, newest file first. */
export function logFilePaths(dataDir: string): string[] {
  const folder = join(dataDir, "logs");
  return Array.from({ length: MAX_FILES }, (_, age) =>
    join(folder, age === 0 ? "carillon.log" : `carillon.${age}.log`),
  );
}

/** The log as files below `dataDir`. */
export interface RotatingLog extends DestinationStream {
  /** Writes what is still waiting. */
  close(): void;
}

/**
 * Takes lines for files under DIR/logs, written in the background. A disk that takes nothing loses lines, nothing else.
 */
export function openRotatingLog(dataDir: string, mostBytes = MOST_BYTES): RotatingLog {
  const paths = logFilePaths(dataDir);
  const [current = ""] = paths;
  mkdirSync(join(dataDir, "logs"), { recursive: true, mode: 0o700 });
  let bytes = sizeOf(current);
  let stream: LineWriter | null = null;
  const rotate = (): void => {
    stream?.end();
    stream = null;
    for (const [age, path] of [...paths.entries()].reverse()) {
      const next = paths[age + 1];
      if (next === undefined) rmSync(path, { force: true });
      else if (existsSync(path)) renameSync(path, next);
    }
    bytes = 0;
  };
  return {
    write(line) {
      try {
        if (bytes > mostBytes) rotate();
        bytes += line.length;
        stream ??= openLineWriter(current);
        stream.write(line);
      } catch {
        // A full or broken disk: stderr has the line all the same.
      }
    },
    close() {
      try {
        stream?.flushSync();
        stream?.end();
        stream = null;
      } catch {
        // As above.
      }
    },
  };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

interface LineWriter {
  write(line: string): void;
  /** Writes at once what is still waiting, after what is being written. */
  flushSync(): void;
  /** Closes the file as soon as all is written. */
  end(): void;
}

/** How long the end waits for a write that the disk has not taken yet, ms. own choice */
const FLUSH_TIMEOUT_MS = 1_000;
const FLUSH_POLL_MS = 2;

/** Adds lines to a file in the background, one write after the other, and so in their order. */
function openLineWriter(path: string): LineWriter {
  // Opened at once: a process that ends while a file is still being opened ends with a fault.
  const file = openSync(path, "a", 0o600);
  let waiting = "";
  /** The size of the file once what is being written is there; null while nothing is. */
  let due: number | null = null;
  let hasEnded = false;
  const next = (): void => {
    due = null;
    if (waiting === "") {
      if (hasEnded) closeSync(file);
      return;
    }
    const bytes = Buffer.from(waiting);
    waiting = "";
    due = fstatSync(file).size + bytes.length;
    // What a full or broken disk does not take is lost.
    write(file, bytes, next);
  };
  return {
    write(line) {
      waiting += line;
      if (due === null) next();
    },
    flushSync() {
      // The other thread's write needs no turn of the loop to come to its end: lines that overtook it would stand before it.
      const cell = new Int32Array(new SharedArrayBuffer(4));
      for (let ms = 0; due !== null && fstatSync(file).size < due && ms < FLUSH_TIMEOUT_MS; ms += FLUSH_POLL_MS) {
        Atomics.wait(cell, 0, 0, FLUSH_POLL_MS);
      }
      const rest = waiting;
      waiting = "";
      if (rest !== "") writeSync(file, rest);
    },
    end() {
      hasEnded = true;
      if (due === null) next();
    },
  };
}
