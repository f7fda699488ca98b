import { closeSync, createReadStream, existsSync, openSync, readSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Clock, Timer } from "../../lib/clock.ts";
import { logFilePaths } from "./log-files.ts";
import { maskSecrets } from "./secret-masking.ts";

/** Conditions that lines must meet. */
export interface LogFilter {
  /** Minimum level, as in the settings. */
  level?: string;
  /** Text that the line must contain; case-insensitive. */
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

export const LOG_LEVELS: readonly string[] = Object.keys(LEVEL_NUMBERS);

/** The last `limit` matching lines of the log, oldest first, secrets masked. */
export async function tailLogFiles(dataDir: string, limit: number, filter: LogFilter = {}): Promise<string[]> {
  let found: string[] = [];
  for (const path of logFilePaths(dataDir)) {
    if (!existsSync(path) || found.length >= limit) continue;
    const lines: string[] = [];
    for await (const line of createInterface({
      input: createReadStream(path, "utf8"),
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      if (!matchesFilter(line, filter)) continue;
      lines.push(maskSecrets(line));
      if (lines.length > 2 * limit) lines.splice(0, lines.length - limit);
    }
    found = [...lines.slice(-(limit - found.length)), ...found];
  }
  return found;
}

/** Calls `onLine` with each new matching line until cancelled; follows rotation. */
export function followLog(dataDir: string, clock: Clock, filter: LogFilter, onLine: (line: string) => void): Timer {
  const [path = ""] = logFilePaths(dataDir);
  let position = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let rest = "";
  return clock.every(250, () => {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size < position) position = 0;
    if (size === position) return;
    const lines = (rest + readFrom(path, position, size)).split("\n");
    position = size;
    rest = lines.pop() ?? "";
    for (const line of lines) if (matchesFilter(line, filter)) onLine(maskSecrets(line));
  });
}

/** Formats a JSON line for people, in UTC, such as `10:15:03.120 warn  backup failed  {"event":"…"}`; escapes control characters. Other lines stay as they are. */
export function formatLogLine(line: string): string {
  const fields = parse(line);
  if (!fields) return line;
  const { time, level, msg, ...more } = fields;
  const levelName = LOG_LEVELS.find((name) => LEVEL_NUMBERS[name] === level) ?? String(level);
  const moment = typeof time === "number" ? new Date(time).toISOString().replace("T", " ").slice(0, 23) : "";
  const suffix = Object.keys(more).length === 0 ? "" : `  ${JSON.stringify(more)}`;
  return `${moment} ${levelName.padEnd(5)} ${String(msg ?? "")}${suffix}`.replace(
    /\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
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
