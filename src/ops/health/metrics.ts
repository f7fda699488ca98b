import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Events } from "../../lib/events.ts";
import alarms from "../../resources/alarms/alarms.ts";
import type { StoreReader } from "../../store/store.ts";
import type { HealthMonitor } from "./health.ts";
import type { MeasurementSnapshot } from "./measurements.ts";
import { type QueueLengths, queueLengths } from "./queue-lengths.ts";

/** What is told to whoever draws graphs of the appliance. */
export interface Metrics {
  /** The text format of Prometheus. */
  render(): Promise<string>;
  contentType: string;
  /** Stops counting. */
  stop(): void;
}

/** What is counted from. */
export interface MetricsDeps {
  reader: StoreReader;
  events: Events;
  health: Pick<HealthMonitor, "report">;
  measured: Readonly<MeasurementSnapshot>;
  /** The test broadcasts to the appliance itself: when one was last heard (epoch ms), and the tries since then. */
  canary: { readonly heardAt: number | null; readonly misses: number };
}

/** Begins to count; all else is read when it is asked for. own choice: the names */
export function createMetrics({ reader, events, health, measured, canary }: MetricsDeps): Metrics {
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });
  const gauge = (name: string, help: string, read: () => number | null): Gauge =>
    new Gauge({
      ...{ name: `carillon_${name}`, help, registers },
      collect() {
        const value = read();
        // What is not known is left out: a graph would take the 0 for a measurement.
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  gauge("health", "0 GREEN, 1 YELLOW, 2 RED.", () => ["GREEN", "YELLOW", "RED"].indexOf(health.report().status));
  gauge("disk_free_bytes", "What may still be written to the disk with the data.", () => measured.disk?.free ?? null);
  gauge("memory_free_bytes", "What the process may still use.", () => measured.memory?.free ?? null);
  gauge("loop_lag_seconds", "How late the event loop is, p99 of 10 s.", () => inSeconds(measured.loopLagMs));
  gauge("write_seconds", "From asking for a write to its COMMIT.", () => inSeconds(measured.writeMs));
  gauge("clock_synchronised", "1 while the clock follows a reference.", () =>
    measured.clockSynchronised === null ? null : Number(measured.clockSynchronised),
  );
  gauge("database_tables_damaged", "Tables of the database that are not sound.", () => measured.damaged.size);
  gauge("devices_unproven", "Devices that the last quiet test did not reach.", () => count(reader, UNREACHED_SQL));
  gauge("test_broadcast_heard_timestamp_seconds", "When the appliance last heard its own test broadcast.", () =>
    inSeconds(canary.heardAt),
  );
  gauge("test_broadcast_misses", "Test broadcasts since then that it did not hear.", () => canary.misses);
  const length = (name: keyof QueueLengths): number => queueLengths(reader)[name];
  gauge("broadcasts_under_way", "Messages that are not settled.", () => length("broadcastsUnderWay"));
  gauge("alarm_actions_waiting", "Actions of alarms that are still to be taken.", () => length("alarmActionsWaiting"));
  gauge("webhooks_waiting", "Calls of triggers that are still to be made.", () => length("webhooksWaiting"));
  new Gauge({
    ...{ name: "carillon_health_reasons", help: "What is not as it should be.", labelNames: ["level"], registers },
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
    ...{ name: "carillon_devices", help: "Devices that are in use.", labelNames: ["type"], registers },
    collect() {
      this.reset();
      for (const { type, n } of reader.all<{ type: string; n: number }>(DEVICES_SQL)) this.set({ type }, n);
    },
  });
  const closing = countEvents(events, registers);
  return {
    render: () => register.metrics(),
    contentType: register.contentType,
    stop() {
      for (const off of closing) off();
    },
  };
}

const UNREACHED_SQL = "SELECT COUNT(*) AS n FROM devices WHERE defunct IS NOT 1 AND test_fault IS NOT NULL";
const DEVICES_SQL = "SELECT type, COUNT(*) AS n FROM devices WHERE defunct IS NOT 1 GROUP BY type";

function countEvents(events: Events, registers: Registry[]): (() => void)[] {
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ name: `carillon_${name}`, help, labelNames, registers });
  const accepted = counter("notifications_accepted_total", "Messages taken, by priority; 0 is the highest.", [
    "priority",
  ]);
  const settled = counter("notifications_settled_total", "Messages whose last delivery has ended.");
  const missed = counter("bells_missed_total", "Bells, messages at set times and clearings that did not happen.");
  const loads = counter("loads_failed_total", "Loads of users that changed nothing.");
  const restarts = counter("plugin_changes_total", "How often a plugin changed its state.", ["plugin", "state"]);
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
