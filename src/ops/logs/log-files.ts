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

/** A log file is rotated at this size and this many files are kept: 60 MiB in total. */
const MAX_FILE_BYTES = 10 * 1_048_576;
const MAX_FILES = 6;
/** Characters that wait for the disk; further lines are lost while it hangs. */
const MAX_WAITING = 8 * 1_048_576;

/** Log files, newest first. */
export function logFilePaths(dataDir: string): string[] {
  const folder = join(dataDir, "logs");
  return Array.from({ length: MAX_FILES }, (_, age) =>
    join(folder, age === 0 ? "carillon.log" : `carillon.${age}.log`),
  );
}

/** Log files below the data directory. */
export interface RotatingLog extends DestinationStream {
  /** Writes pending lines and closes the file. */
  close(): void;
}

/**
 * Writes lines to rotated files in DIR/logs in the background. A disk that fails loses lines, nothing else.
 */
export function openRotatingLog(dataDir: string, maxBytes = MAX_FILE_BYTES): RotatingLog {
  const paths = logFilePaths(dataDir);
  const [current = ""] = paths;
  mkdirSync(join(dataDir, "logs"), { recursive: true, mode: 0o700 });
  let bytes = sizeOf(current);
  let stream: LineWriter | null = null;
  let waiting = 0;
  const onWritten = (characters: number): void => {
    waiting -= characters;
  };
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
      if (waiting > MAX_WAITING) return;
      try {
        if (bytes > maxBytes) rotate();
        bytes += line.length;
        stream ??= openLineWriter(current, onWritten);
        stream.write(line);
        waiting += line.length;
      } catch {
        // Full or broken disk: stderr still gets the line.
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
  /** Writes pending lines at once, after the write in progress. */
  flushSync(): void;
  /** Closes the file when all is written. */
  end(): void;
}

/** How long `flushSync` waits for the write in progress, ms. */
const FLUSH_TIMEOUT_MS = 1_000;
const FLUSH_POLL_MS = 2;

/** Appends lines to a file in the background, one write at a time, which keeps their order. */
function openLineWriter(path: string, onWritten: (characters: number) => void): LineWriter {
  // Opened at once: a process that exits while a file is being opened crashes.
  const file = openSync(path, "a", 0o600);
  let pending = "";
  /** File size after the write in progress; null if there is none. */
  let expectedSize: number | null = null;
  let hasEnded = false;
  const next = (): void => {
    expectedSize = null;
    if (pending === "") {
      if (hasEnded) closeSync(file);
      return;
    }
    const bytes = Buffer.from(pending);
    const characters = pending.length;
    pending = "";
    expectedSize = fstatSync(file).size + bytes.length;
    // What a full or broken disk rejects is lost.
    write(file, bytes, () => {
      onWritten(characters);
      next();
    });
  };
  return {
    write(line) {
      pending += line;
      if (expectedSize === null) next();
    },
    flushSync() {
      // The write in progress completes in another thread without the event loop; writing now would put later lines first.
      const cell = new Int32Array(new SharedArrayBuffer(4));
      for (
        let ms = 0;
        expectedSize !== null && fstatSync(file).size < expectedSize && ms < FLUSH_TIMEOUT_MS;
        ms += FLUSH_POLL_MS
      ) {
        Atomics.wait(cell, 0, 0, FLUSH_POLL_MS);
      }
      const rest = pending;
      pending = "";
      onWritten(rest.length);
      if (rest !== "") writeSync(file, rest);
    },
    end() {
      hasEnded = true;
      if (expectedSize === null) next();
    },
  };
}
