import type { Clock } from "../lib/clock.ts";
import { type Log, redactSecrets } from "../lib/log.ts";
import type { PluginLogLevel } from "./plugin-protocol.ts";

/** Lines kept per plugin. */
const MAX_LINES = 500;
/** Characters kept of a message and of its details. */
const MAX_MESSAGE_LENGTH = 1_000;
const MAX_DETAILS_LENGTH = 2_000;

/** A line of a plugin's log. */
export interface PluginLogLine {
  /** Line number, from 1 since the daemon started. */
  seq: number;
  /** Epoch ms. */
  at: number;
  level: PluginLogLevel;
  message: string;
  /** Logged values as JSON, truncated; null without values. */
  details: string | null;
}

/** The latest log lines of a plugin and of the host about it, in memory only. */
export interface LogTail {
  add(level: PluginLogLevel, values: object, message: string): void;
  /**
   * At most `limit` of the newest lines after number `after`, oldest first. A number that was not reached yet, as after
   * a restart, counts as 0.
   */
  read(limit: number, after: number): PluginLogLine[];
}

/** Creates an empty tail of at most 500 lines. */
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

/** Writes each line to the daemon's log and, redacted, to a tail. */
export type TailedLog = Record<PluginLogLevel, (values: object, message: string) => void>;

/** Creates the log. The tail receives every level, whatever the daemon's log level is. */
export function createTailedLog(log: Log, tail: LogTail, redact: <T>(value: T) => T): TailedLog {
  const both =
    (level: PluginLogLevel) =>
    (values: object, message: string): void => {
      log[level](values, message);
      tail.add(level, redact(plainErrors(redactSecrets(values))), redact(message));
    };
  return { debug: both("debug"), info: both("info"), warn: both("warn"), error: both("error") };
}

/** Errors serialize to `{}`; their messages are kept instead. */
function plainErrors(values: object): object {
  const entries = Object.entries(values);
  return Object.fromEntries(entries.map(([name, value]) => [name, value instanceof Error ? value.message : value]));
}

function detailsOf(values: object): string | null {
  if (Object.keys(values).length === 0) return null;
  try {
    return JSON.stringify(values).slice(0, MAX_DETAILS_LENGTH);
  } catch {
    // A cycle or a bigint: structured clone allows it, JSON does not.
    return `{${Object.keys(values).join(", ")}}`.slice(0, MAX_DETAILS_LENGTH);
  }
}
