import { mkdirSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type DestinationStream, pino } from "pino";

/** A file of the log takes so much before the next one is begun, and so many are kept. own choice: 60 MiB in all */
const MOST_BYTES = 10 * 1_048_576;
const KEPT = 6;

/** Where the log lies, newest file first. */
export function logPaths(dataDir: string): string[] {
  const folder = join(dataDir, "logs");
  return Array.from({ length: KEPT }, (_, age) => join(folder, age === 0 ? "carillon.log" : `carillon.${age}.log`));
}

/** The log as files below `dataDir`. */
export interface LogFiles extends DestinationStream {
  /** Writes what is still waiting. */
  close(): void;
}

/**
 * Takes lines for files under DIR/logs, written in the background. A disk that takes nothing loses lines, nothing else.
 */
export function openLogFiles(dataDir: string, mostBytes = MOST_BYTES): LogFiles {
  const paths = logPaths(dataDir);
  const [current = ""] = paths;
  mkdirSync(join(dataDir, "logs"), { recursive: true, mode: 0o700 });
  // Opened at once: a process that ends while a file is still being opened ends with a fault.
  const open = (): ReturnType<typeof pino.destination> => {
    const made = pino.destination({ dest: openSync(current, "a", 0o600), sync: false, minLength: 0 });
    made.on("error", () => undefined);
    return made;
  };
  let bytes = sizeOf(current);
  let stream: ReturnType<typeof open> | null = null;
  const turn = (): void => {
    stream?.end();
    stream = null;
    for (const [age, path] of [...paths.entries()].reverse()) {
      const next = paths[age + 1];
      if (next === undefined) rmSync(path, { force: true });
      else if (sizeOf(path) > 0) renameSync(path, next);
    }
    bytes = 0;
  };
  return {
    write(line) {
      try {
        if (bytes > mostBytes) turn();
        bytes += line.length;
        stream ??= open();
        stream.write(line);
      } catch {
        // A full or broken disk: stderr has the line all the same.
      }
    },
    close() {
      try {
        stream?.flushSync();
        stream?.end();
      } catch {
        // As above.
      }
    },
  };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
