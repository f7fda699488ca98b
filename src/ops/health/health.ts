import type { Clock } from "../../lib/clock.ts";
import type { Events } from "../../lib/events.ts";
import { type Sentence, type SentenceCode, sentence } from "../../lib/sentences/sentences.ts";
import extensions from "../../resources/devices/extensions.ts";
import triggers from "../../resources/webhooks/triggers.ts";
import type { StoreReader } from "../../store/store.ts";

/** A health problem; `code` identifies it while its text may change. */
export interface HealthReason {
  level: "red" | "yellow";
  code: string;
  reason: Sentence;
}

/** Returns the current problems of a component; must take a few ms at most. */
export type HealthSource = () => readonly HealthReason[];

/** Overall health; reasons are texts in no particular order. */
export interface HealthReport {
  status: "GREEN" | "YELLOW" | "RED";
  redReasons: string[];
  yellowReasons: string[];
  /** All reasons, red ones first. */
  reasons: HealthReason[];
  /** Epoch ms of the last change; at first the start. */
  since: number;
}

/** Computes the health of the appliance. */
export interface HealthMonitor {
  /** Epoch ms. */
  readonly startedAt: number;
  report(): HealthReport;
  /** Unsubscribes from events. */
  stop(): void;
}

export interface HealthMonitorDeps {
  clock: Clock;
  events: Events;
  reader: StoreReader;
  /** Further sources of reasons. */
  sources?: readonly HealthSource[];
}

/**
 * Plugins: RED if stopped after repeated failures; YELLOW while restarting, if enabled but unable to run, or if running but
 * reporting that it can't deliver; none if disabled by an administrator. A trigger that Carillon disabled because its receiver
 * did not respond is YELLOW until it is enabled or deleted. All other reasons come from `sources`.
 */
export function createHealthMonitor({ clock, events, reader, sources = [] }: HealthMonitorDeps): HealthMonitor {
  const plugins = new Map<string, HealthReason>();
  const startedAt = clock.now();
  let since = startedAt;
  let lastCodes = "";
  const isEnabled = (plugin: string): boolean => {
    const row = reader.find(extensions, { plugin }, 1)[0];
    return row !== undefined && !row.disabled && !row.globalDisabled;
  };
  const stopFollowing = events.on("plugin.changed", ({ plugin, state, reason, health = "ok" }) => {
    const code = `plugin:${plugin}`;
    plugins.delete(plugin);
    const addReason = (level: HealthReason["level"], [plain, because]: readonly [SentenceCode, SentenceCode]): void =>
      void plugins.set(plugin, {
        ...{ level, code },
        reason: reason === null ? sentence(plain, { plugin }) : sentence(because, { plugin, reason }),
      });
    if (state === "stopped") addReason("red", ["health.plugin-stopped", "health.plugin-stopped-because"]);
    if (state === "running" && health === "down")
      addReason("yellow", ["health.plugin-down", "health.plugin-down-because"]);
    if (state === "restarting") addReason("yellow", ["health.plugin-restarting", "health.plugin-restarting-because"]);
    if (state === "disabled" && isEnabled(plugin))
      addReason("yellow", ["health.plugin-unable", "health.plugin-unable-because"]);
  });
  return {
    startedAt,
    report() {
      const found = [...plugins.values(), ...disabledTriggerReasons(reader), ...sources.flatMap((source) => source())];
      const [red, yellow] = (["red", "yellow"] as const).map((level) => found.filter((each) => each.level === level));
      const reasons = [...(red ?? []), ...(yellow ?? [])];
      const codes = reasons
        .map(({ level, code }) => `${level} ${code}`)
        .sort()
        .join("\n");
      if (codes !== lastCodes) since = clock.now();
      lastCodes = codes;
      const status = red?.length ? "RED" : yellow?.length ? "YELLOW" : "GREEN";
      const texts = (each: readonly HealthReason[] = []): string[] => each.map(({ reason }) => reason);
      return { status, redReasons: texts(red), yellowReasons: texts(yellow), reasons, since };
    },
    stop: stopFollowing,
  };
}

/** There are at most 100 triggers. */
function disabledTriggerReasons(reader: StoreReader): HealthReason[] {
  return reader.find(triggers, { disabled: true }).flatMap(({ id, name, disabledReason }) => {
    if (disabledReason === null) return [];
    const reason = sentence("health.trigger-disabled", { name: name ?? "", reason: disabledReason });
    return [{ level: "yellow", code: `trigger:${id}`, reason }];
  });
}
