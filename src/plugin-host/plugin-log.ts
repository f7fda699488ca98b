import type { Clock } from "../lib/clock.ts";
import type { PluginLog } from "../plugin-api/index.ts";
import type { PluginLogLevel } from "./plugin-protocol.ts";

/** Rate limit in lines per second; further lines are counted and dropped. */
const LINES_PER_SECOND = 100;

/** Creates a plugin's log. Values that cannot be cloned are replaced by strings. */
export function createPluginLog(
  clock: Clock,
  send: (level: PluginLogLevel, values: Record<string, unknown>, message: string) => void,
): PluginLog {
  let second = 0;
  let lines = 0;
  let dropped = 0;
  const write = (level: PluginLogLevel, values: Record<string, unknown>, message: string): void => {
    const now = Math.floor(clock.monotonicMs() / 1000);
    if (now !== second) {
      if (dropped > 0) send("warn", { event: "plugin.log_dropped", dropped }, "log lines dropped by the rate limit");
      second = now;
      lines = 0;
      dropped = 0;
    }
    if (lines++ >= LINES_PER_SECOND) dropped++;
    else send(level, cloneable(values), String(message));
  };
  return {
    debug: (values, message) => write("debug", values, message),
    info: (values, message) => write("info", values, message),
    warn: (values, message) => write("warn", values, message),
    error: (values, message) => write("error", values, message),
  };
}

function cloneable(values: Record<string, unknown>): Record<string, unknown> {
  try {
    return structuredClone(values);
  } catch {
    return Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, value instanceof Error ? value.message : String(value)]),
    );
  }
}
