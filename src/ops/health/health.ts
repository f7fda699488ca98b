import type { Clock } from "../../lib/clock.ts";
import type { Events } from "../../lib/events.ts";
import extensions from "../../resources/devices/extensions.ts";
import triggers from "../../resources/webhooks/triggers.ts";
import type { StoreReader } from "../../store/store.ts";

/** Something that is not as it should be; `code` says what it is, however the words change meanwhile. */
export interface HealthReason {
  level: "red" | "yellow";
  code: string;
  reason: string;
}

/** What somebody knows to be wrong now; takes at most some ms. */
export type HealthSource = () => readonly HealthReason[];

/** How the appliance is; reasons in words, without order. */
export interface HealthReport {
  status: "GREEN" | "YELLOW" | "RED";
  redReasons: string[];
  yellowReasons: string[];
  /** All of them, the red ones first. */
  reasons: HealthReason[];
  /** Epoch ms of the last change, at first of the start. */
  since: number;
}

/** Watches the rooms. */
export interface HealthMonitor {
  /** Epoch ms. */
  readonly startedAt: number;
  report(): HealthReport;
  /** Stops listening. */
  stop(): void;
}

/** What health is known from. */
export interface HealthMonitorDeps {
  clock: Clock;
  events: Events;
  reader: StoreReader;
  /** Further ones who know. */
  sources?: readonly HealthSource[];
}

/**
 * Follows the plugins: one that was given up because it failed is red; one that is being restarted, or that can't run
 * although it is switched on, or that runs and says itself that nothing gets through it, is yellow; one that somebody switched off is neither. A trigger that Carillon disabled,
 * since its receiver did not answer, is yellow until somebody enables or deletes it. All else the sources know.
 */
export function createHealthMonitor({ clock, events, reader, sources = [] }: HealthMonitorDeps): HealthMonitor {
  const plugins = new Map<string, HealthReason>();
  const startedAt = clock.now();
  let since = startedAt;
  let known = "";
  const isWanted = (plugin: string): boolean => {
    const row = reader.find(extensions, { plugin }, 1)[0];
    return row !== undefined && !row.disabled && !row.globalDisabled;
  };
  const stopFollowing = events.on("plugin.changed", ({ plugin, state, reason, health = "ok" }) => {
    const because = reason === null ? "." : `: ${reason}`;
    const code = `plugin:${plugin}`;
    plugins.delete(plugin);
    const tell = (level: HealthReason["level"], words: string): void =>
      void plugins.set(plugin, { level, code, reason: `Plugin ${plugin} ${words}${because}` });
    if (state === "stopped") tell("red", "was given up");
    if (state === "running" && health === "down") tell("yellow", "runs, but nothing gets through it");
    if (state === "restarting") tell("yellow", "is being started");
    if (state === "disabled" && isWanted(plugin)) tell("yellow", "can't run");
  });
  return {
    startedAt,
    report() {
      const found = [...plugins.values(), ...disabledTriggerReasons(reader), ...sources.flatMap((source) => source())];
      const [red, yellow] = (["red", "yellow"] as const).map((level) => found.filter((each) => each.level === level));
      const reasons = [...(red ?? []), ...(yellow ?? [])];
      const now = reasons
        .map(({ level, code }) => `${level} ${code}`)
        .sort()
        .join("\n");
      if (now !== known) since = clock.now();
      known = now;
      const status = red?.length ? "RED" : yellow?.length ? "YELLOW" : "GREEN";
      const words = (each: readonly HealthReason[] = []): string[] => each.map(({ reason }) => reason);
      return { status, redReasons: words(red), yellowReasons: words(yellow), reasons, since };
    },
    stop: stopFollowing,
  };
}

/** At most 100 triggers exist. */
function disabledTriggerReasons(reader: StoreReader): HealthReason[] {
  return reader.find(triggers, { disabled: true }).flatMap(({ id, name, disabledReason }) => {
    const reason = `Trigger ${name} is disabled: ${disabledReason}`;
    return disabledReason === null ? [] : [{ level: "yellow", code: `trigger:${id}`, reason }];
  });
}
