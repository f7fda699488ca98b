import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import extensions from "../resources/devices/extensions.ts";
import triggers from "../resources/outbound/triggers.ts";
import type { Reader } from "../store/store.ts";

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
 * Follows the plugins: one that was given up because it failed is red; one that is being restarted, or that can't run
 * although it is switched on, is yellow; one that somebody switched off is neither. A trigger that Carillon disabled,
 * since its receiver did not answer, is yellow until somebody enables or deletes it.
 */
export function watchHealth({ clock, events, reader }: { clock: Clock; events: Events; reader: Reader }): Health {
  const red = new Map<string, string>();
  const yellow = new Map<string, string>();
  let since = clock.now();
  const isWanted = (plugin: string): boolean => {
    const row = reader.find(extensions, { plugin }, 1)[0];
    return row !== undefined && !row.disabled && !row.globalDisabled;
  };
  const stopWatching = events.on("row.changed", ({ resource }) => {
    if (resource === triggers.name) since = clock.now();
  });
  const stopFollowing = events.on("plugin.changed", ({ plugin, state, reason }) => {
    const because = reason === null ? "." : `: ${reason}`;
    red.delete(plugin);
    yellow.delete(plugin);
    if (state === "stopped") red.set(plugin, `Plugin ${plugin} was given up${because}`);
    if (state === "restarting") yellow.set(plugin, `Plugin ${plugin} is being started${because}`);
    if (state === "disabled" && isWanted(plugin)) yellow.set(plugin, `Plugin ${plugin} can't run${because}`);
    since = clock.now();
  });
  return {
    report() {
      const [redReasons, yellowReasons] = [[...red.values()], [...yellow.values(), ...givenUpTriggers(reader)]];
      const status = redReasons.length > 0 ? "RED" : yellowReasons.length > 0 ? "YELLOW" : "GREEN";
      return { status, redReasons, yellowReasons, since };
    },
    close() {
      stopFollowing();
      stopWatching();
    },
  };
}

/** At most 100 triggers exist. */
function givenUpTriggers(reader: Reader): string[] {
  const disabled = reader.find(triggers, { disabled: true });
  return disabled.flatMap(({ name, disabledReason }) =>
    disabledReason === null ? [] : [`Trigger ${name} is disabled: ${disabledReason}`],
  );
}
