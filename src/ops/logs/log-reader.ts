import { closeSync, createReadStream, existsSync, openSync, readSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Clock, Timer } from "../../lib/clock.ts";
import { logFilePaths } from "./log-files.ts";
import { maskSecrets } from "./secret-masking.ts";

/** Which lines are wanted. */
export interface LogFilter {
  /** Least level, as in the settings. */
  level?: string;
  /** A text that the line holds, whatever the case. */
  text?: string;
  /** Epoch ms. */
  since?: number;
}

const LEVEL_NUMBERS: Readonly<Record<string, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
};

/** The levels that lines are filtered by. */
export const LOG_LEVELS: readonly string[] = Object.keys(LEVEL_NUMBERS);

/** The last `most` lines of the log that fit, oldest first, secrets masked. */
export async function tailLogFiles(dataDir: string, most: number, filter: LogFilter = {}): Promise<string[]> {
  let found: string[] = [];
  for (const path of logFilePaths(dataDir)) {
    if (!existsSync(path) || found.length >= most) continue;
    const lines: string[] = [];
    for await (const line of createInterface({
      input: createReadStream(path, "utf8"),
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      if (!matchesFilter(line, filter)) continue;
      lines.push(maskSecrets(line));
      if (lines.length > 2 * most) lines.splice(0, lines.length - most);
    }
    found = [...lines.slice(-(most - found.length)), ...found];
  }
  return found;
}

/** Calls `take` with each further line that fits until stopped; a file that is begun anew is followed. */
export function followLog(dataDir: string, clock: Clock, filter: LogFilter, take: (line: string) => void): Timer {
  const [path = ""] = logFilePaths(dataDir);
  let at = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let rest = "";
  return clock.every(250, () => {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size < at) at = 0;
    if (size === at) return;
    const lines = (rest + readFrom(path, at, size)).split("\n");
    at = size;
    rest = lines.pop() ?? "";
    for (const line of lines) if (matchesFilter(line, filter)) take(maskSecrets(line));
  });
}

/** `10:15:03.120 warn  a listener failed  {"event":"…"}`, in UTC, without signs that steer a terminal; a line that is no JSON stays as it is. */
export function formatLogLine(line: string): string {
  const fields = parse(line);
  if (!fields) return line;
  const { time, level, msg, ...more } = fields;
  const word = LOG_LEVELS.find((name) => LEVEL_NUMBERS[name] === level) ?? String(level);
  const moment = typeof time === "number" ? new Date(time).toISOString().replace("T", " ").slice(0, 23) : "";
  const rest = Object.keys(more).length === 0 ? "" : `  ${JSON.stringify(more)}`;
  return `${moment} ${word.padEnd(5)} ${String(msg ?? "")}${rest}`.replace(
    /\p{Cc}/gu,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function matchesFilter(line: string, { level, text, since }: LogFilter): boolean {
  if (line === "") return false;
  if (text !== undefined && !line.toLowerCase().includes(text.toLowerCase())) return false;
  if (level === undefined && since === undefined) return true;
  const fields = parse(line);
  if (!fields) return false;
  if (level !== undefined && Number(fields.level) < (LEVEL_NUMBERS[level] ?? 0)) return false;
  return since === undefined || Number(fields.time) >= since;
}

function parse(line: string): { time?: unknown; level?: unknown; msg?: unknown } | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : null;
  } catch {
    return null;
  }
}

function readFrom(path: string, from: number, to: number): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(to - from);
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, from));
  } finally {
    closeSync(file);
  }
}
