import type { Clock } from "../lib/clock.ts";
import { type Log, redactSecrets } from "../lib/log.ts";
import type { PluginLogLevel } from "./plugin-protocol.ts";

/** Lines kept of each plugin. own choice */
const MAX_LINES = 500;
/** Characters kept of a message, and of what was logged with it. own choice */
const MAX_MESSAGE_LENGTH = 1_000;
const MAX_DETAILS_LENGTH = 2_000;

/** A line of a plugin's log. */
export interface PluginLogLine {
  /** Counts the lines of the plugin from 1 since the daemon started. */
  seq: number;
  /** Epoch ms. */
  at: number;
  level: PluginLogLevel;
  message: string;
  /** What was logged with it, as JSON, cut off when it is long; null for nothing. */
  details: string | null;
}

/** The last lines that a plugin, or the host about it, has logged; they are gone with the process. */
export interface LogTail {
  add(level: PluginLogLevel, values: object, message: string): void;
  /** At most `limit` of the newest lines after number `after`, oldest first; one not reached yet, as after a restart, counts as 0. */
  read(limit: number, after: number): PluginLogLine[];
}

/** Makes an empty tail of at most 500 lines. */
export function createLogTail(clock: Clock): LogTail {
  const lines: PluginLogLine[] = [];
  let seq = 0;
  return {
    add(level, values, message) {
      seq += 1;
      const line = { seq, at: clock.now(), level, message: message.slice(0, MAX_MESSAGE_LENGTH) };
      lines.push({ ...line, details: detailsOf(values) });
      if (lines.length > MAX_LINES) lines.shift();
    },
    read: (limit, after) => lines.filter((line) => line.seq > (after > seq ? 0 : after)).slice(-limit),
  };
}

/** Writes each line to the daemon's log and to a tail; what goes to the tail is struck through by `redact`. */
export type TailedLog = Record<PluginLogLevel, (values: object, message: string) => void>;

/** Makes such a log. The tail gets every level, whatever the daemon's log leaves out. */
export function createTailedLog(log: Log, tail: LogTail, redact: <T>(value: T) => T): TailedLog {
  const both =
    (level: PluginLogLevel) =>
    (values: object, message: string): void => {
      log[level](values, message);
      tail.add(level, redact(plainErrors(redactSecrets(values))), redact(message));
    };
  return { debug: both("debug"), info: both("info"), warn: both("warn"), error: both("error") };
}

/** An error says nothing as JSON; its words do. */
function plainErrors(values: object): object {
  const entries = Object.entries(values);
  return Object.fromEntries(entries.map(([name, value]) => [name, value instanceof Error ? value.message : value]));
}

function detailsOf(values: object): string | null {
  if (Object.keys(values).length === 0) return null;
  try {
    return JSON.stringify(values).slice(0, MAX_DETAILS_LENGTH);
  } catch {
    // A circle or a bigint, which a copy between threads allows and JSON does not.
    return `{${Object.keys(values).join(", ")}}`.slice(0, MAX_DETAILS_LENGTH);
  }
}
