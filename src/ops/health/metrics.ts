import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Events } from "../../lib/events.ts";
import alarms from "../../resources/alarms/alarms.ts";
import type { StoreReader } from "../../store/store.ts";
import type { LoopGuard } from "../loop-guard.ts";
import type { HealthMonitor } from "./health.ts";
import type { MeasurementSnapshot } from "./measurements.ts";
import { type QueueLengths, queueLengths } from "./queue-lengths.ts";

/** Prometheus metrics of the appliance. */
export interface Metrics {
  /** Prometheus text format. */
  render(): Promise<string>;
  contentType: string;
  /** Adds a gauge that is read at each request. */
  addGauge(name: string, help: string, read: () => number): void;
  /** Unsubscribes from events. */
  stop(): void;
}

export interface MetricsDeps {
  reader: StoreReader;
  events: Events;
  health: Pick<HealthMonitor, "report">;
  measured: Readonly<MeasurementSnapshot>;
  /** Loopback probe: time of the last success (epoch ms), and failures since. */
  canary: { readonly heardAt: number | null; readonly misses: number };
  loopGuard: Pick<LoopGuard, "blocked">;
}

/** Counters count from here on; gauges are read at each request. */
export function createMetrics({ reader, events, health, measured, canary, loopGuard }: MetricsDeps): Metrics {
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });
  const gauge = (name: string, help: string, read: () => number | null): Gauge =>
    new Gauge({
      ...{ name: `carillon_${name}`, help, registers },
      collect() {
        const value = read();
        // Unknown values are omitted: a graph would show 0 as a measurement.
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  gauge("health", "Health of the appliance: 0 GREEN, 1 YELLOW, 2 RED.", () =>
    ["GREEN", "YELLOW", "RED"].indexOf(health.report().status),
  );
  gauge("disk_free_bytes", "Free space of the disk with the data directory.", () => measured.disk?.free ?? null);
  gauge("memory_free_bytes", "Memory available to the process.", () => measured.memory?.free ?? null);
  gauge("loop_lag_seconds", "Event loop lag, p99 over 10 s.", () => inSeconds(measured.loopLagMs));
  gauge("write_seconds", "Latency of a database write, from request to COMMIT.", () => inSeconds(measured.writeMs));
  gauge("clock_synchronised", "1 while the clock is synchronized (NTP).", () =>
    measured.clockSynchronised === null ? null : Number(measured.clockSynchronised),
  );
  gauge("database_tables_damaged", "Number of damaged database tables.", () => measured.damaged.size);
  gauge("devices_unproven", "Devices not reached by the last silent connectivity test.", () =>
    count(reader, UNREACHED_SQL),
  );
  gauge("test_broadcast_heard_timestamp_seconds", "Time of the last successful loopback probe.", () =>
    inSeconds(canary.heardAt),
  );
  gauge("test_broadcast_misses", "Loopback probes failed since then.", () => canary.misses);
  const length = (name: keyof QueueLengths): number => queueLengths(reader)[name];
  gauge("broadcasts_under_way", "Messages in progress.", () => length("broadcastsUnderWay"));
  gauge("alarm_actions_waiting", "Pending alarm actions.", () => length("alarmActionsWaiting"));
  gauge("webhooks_waiting", "Pending webhook calls.", () => length("webhooksWaiting"));
  new Gauge({
    ...{ name: "carillon_health_reasons", help: "Number of active health problems.", labelNames: ["level"], registers },
    collect() {
      const { redReasons, yellowReasons } = health.report();
      this.set({ level: "red" }, redReasons.length);
      this.set({ level: "yellow" }, yellowReasons.length);
    },
  });
  new Gauge({
    ...{ name: "carillon_alarm_active", help: "1 while the alarm is ACTIVE.", labelNames: ["type"], registers },
    collect() {
      for (const { type, status } of reader.find(alarms, {}))
        this.set({ type: type ?? "" }, status === "ACTIVE" ? 1 : 0);
    },
  });
  new Gauge({
    ...{ name: "carillon_devices", help: "Devices in use.", labelNames: ["type"], registers },
    collect() {
      this.reset();
      for (const { type, n } of reader.all<{ type: string; n: number }>(DEVICES_SQL)) this.set({ type }, n);
    },
  });
  for (const [unit, help] of [
    ["turns", "Turns of the event loop that took more than 50 ms, by the work that took most of it."],
    ["seconds", "Time of these turns."],
  ] as const)
    new Counter({
      ...{ name: `carillon_loop_blocked_${unit}_total`, help, labelNames: ["work"], registers },
      collect() {
        this.reset();
        for (const [work, blocked] of loopGuard.blocked) this.inc({ work }, blocked[unit]);
      },
    });
  const unsubscribers = countEvents(events, registers);
  return {
    render: () => register.metrics(),
    contentType: register.contentType,
    addGauge: (name, help, read) => void gauge(name, help, read),
    stop() {
      for (const unsubscribe of unsubscribers) unsubscribe();
    },
  };
}

const UNREACHED_SQL = "SELECT COUNT(*) AS n FROM devices WHERE defunct IS NOT 1 AND test_fault IS NOT NULL";
const DEVICES_SQL = "SELECT type, COUNT(*) AS n FROM devices WHERE defunct IS NOT 1 GROUP BY type";

function countEvents(events: Events, registers: Registry[]): (() => void)[] {
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ name: `carillon_${name}`, help, labelNames, registers });
  const accepted = counter("notifications_accepted_total", "Messages accepted, by priority; 0 is the highest.", [
    "priority",
  ]);
  const settled = counter("notifications_settled_total", "Messages whose deliveries have all ended.");
  const missed = counter("bells_missed_total", "Missed bells, scheduled messages and screen clearings.");
  const loads = counter("loads_failed_total", "Failed user imports.");
  const restarts = counter("plugin_changes_total", "State changes of a plugin.", ["plugin", "state"]);
  return [
    events.on("notification.accepted", ({ priority }) => accepted.inc({ priority })),
    events.on("notification.settled", () => settled.inc()),
    events.on("bell.missed", () => missed.inc()),
    events.on("load.failed", () => loads.inc()),
    events.on("plugin.changed", ({ plugin, state }) => restarts.inc({ plugin, state })),
  ];
}

function count(reader: StoreReader, sql: string): number {
  return reader.one<{ n: number }>(sql)?.n ?? 0;
}

function inSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}
