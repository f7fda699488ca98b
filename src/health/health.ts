import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";

/** How the appliance is; reasons in words, without order. */
export interface HealthReport {
  status: "GREEN" | "YELLOW" | "RED";
  redReasons: string[];
  yellowReasons: string[];
  /** Epoch ms of the last change, at first of the start. */
  since: number;
}

/** Watches the rooms. */
export interface Health {
  report(): HealthReport;
  /** Stops listening. */
  close(): void;
}

/**
 * Follows the plugins: one that was switched off because it failed is red, one that is being restarted yellow; one that
 * nobody wants to run is neither.
 */
export function watchHealth(clock: Clock, events: Events): Health {
  const red = new Map<string, string>();
  const yellow = new Map<string, string>();
  let since = clock.now();
  const close = events.on("plugin.changed", ({ plugin, state, reason }) => {
    red.delete(plugin);
    yellow.delete(plugin);
    if (state === "disabled" && reason !== null) red.set(plugin, `Plugin ${plugin} is off: ${reason}`);
    if (state === "restarting") yellow.set(plugin, `Plugin ${plugin} is being restarted${reason ? `: ${reason}` : ""}`);
    since = clock.now();
  });
  return {
    report: () => ({
      status: red.size > 0 ? "RED" : yellow.size > 0 ? "YELLOW" : "GREEN",
      redReasons: [...red.values()],
      yellowReasons: [...yellow.values()],
      since,
    }),
    close,
  };
}
