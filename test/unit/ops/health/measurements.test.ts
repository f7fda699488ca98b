import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEvents } from "../../../../src/lib/events.ts";
import { silentLog } from "../../../../src/lib/log.ts";
import { asGiven } from "../../../../src/lib/sentences/sentences.ts";
import { createHealthMonitor, type HealthMonitor, type HealthReason } from "../../../../src/ops/health/health.ts";
import { createHealthHistory } from "../../../../src/ops/health/health-history.ts";
import { createHostMetrics } from "../../../../src/ops/health/host-metrics.ts";
import {
  createMeasurements,
  type MeasurementSnapshot,
  type Measurements,
  measurementReasons,
} from "../../../../src/ops/health/measurements.ts";
import { createMetrics } from "../../../../src/ops/health/metrics.ts";
import { missedBellReasons } from "../../../../src/ops/health/missed-bells.ts";
import { queueHealthReasons } from "../../../../src/ops/health/queue-lengths.ts";
import { createTableIntegrityCheck } from "../../../../src/ops/health/table-integrity.ts";
import { ALARM_IDS } from "../../../../src/resources/alarms/alarm-types.ts";
import systemHealthEvents from "../../../../src/resources/alarms/system-health-events.ts";
import endpointActivities from "../../../../src/resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../../../../src/resources/devices/on-premises-extension.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import type { StoreReader } from "../../../../src/store/store.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";
import { type AlarmsFixture, openAlarms } from "../../alarms/alarms-fixture.ts";

const GIB = 1_073_741_824;
const FINE: MeasurementSnapshot = {
  ...{ disk: null, memory: null, loopLagMs: null, writeMs: null, clockSynchronised: null, clockStepMs: null },
  damaged: new Map(),
};

describe("measurement thresholds", () => {
  it.each<[string, Partial<MeasurementSnapshot>, string[]]>([
    ["nothing is known", {}, []],
    ["much of a small disk is free", { disk: { free: 1 * GIB, total: 4 * GIB } }, []],
    ["a tenth of a large disk is free", { disk: { free: 50 * GIB, total: 600 * GIB } }, []],
    ["the disk is nearly full", { disk: { free: 1 * GIB, total: 40 * GIB } }, ["yellow disk"]],
    ["the disk is full", { disk: { free: 0, total: 40 * GIB } }, ["red disk"]],
    ["the memory is nearly used up", { memory: { free: 0.1 * GIB, total: 4 * GIB } }, ["yellow memory"]],
    ["work waits", { loopLagMs: 1_500 }, ["yellow loopLagMs"]],
    ["writes stand still", { writeMs: 20_000 }, ["red writeMs"]],
    ["the clock runs free", { clockSynchronised: false }, ["yellow clock"]],
    ["the clock was set", { clockStepMs: -3_600_000 }, ["yellow clock-step"]],
    ["a table is damaged", { damaged: new Map([["users", "row 3 missing"]]) }, ["red damaged:users"]],
  ])("classify %s", (_name, measured, expected) => {
    expect(measurementReasons({ ...FINE, ...measured }).map(({ level, code }) => `${level} ${code}`)).toEqual(expected);
  });

  it("measure the machine that this runs on", async () => {
    const machine = createHostMetrics();
    const disk = await machine.disk(".");
    expect(disk?.total).toBeGreaterThan(disk?.free ?? 0);
    expect(machine.memory().free).toBeGreaterThan(0);
    expect(machine.loopLagMs()).toBeGreaterThanOrEqual(0);
    expect(await machine.disk("/no/such/folder")).toBeNull();
    expect([true, false, null]).toContain(await machine.isClockSynchronised());
  });
});

describe("the tables of a database", () => {
  it("are checked one after the other; damage is found and named", () => {
    const path = join(makeTempDir(), "damaged.db");
    const whole = new Database(path);
    for (const table of ["sound", "damaged", "large"])
      whole.exec(`CREATE TABLE ${table} (id INTEGER PRIMARY KEY, text)`);
    for (const [table, rows] of [
      ["sound", 500],
      ["damaged", 500],
      ["large", 3_000],
    ] as const) {
      whole.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
         INSERT INTO ${table} SELECT i, hex(randomblob(200)) FROM n`,
      );
    }
    const { rootpage } = whole.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'damaged'").get() as {
      rootpage: number;
    };
    whole.close();
    const bytes = readFileSync(path);
    // Cells of the root page lead to pages that are not there.
    bytes.fill(0xff, (rootpage - 1) * 4_096 + 12, (rootpage - 1) * 4_096 + 60);
    writeFileSync(path, bytes);
    const open = new Database(path);
    const reader = {
      all: (sql: string) => open.prepare(sql).all(),
      one: (sql: string) => open.prepare(sql).get() ?? null,
    } as unknown as StoreReader;
    const tables = createTableIntegrityCheck(reader);
    for (let at = 0; at < 3; at++) tables.next();
    const damaged = tables.next();
    expect([...damaged.keys()]).toEqual(["damaged"]);
    expect(damaged.get("damaged")).toMatch(/\w/);
    open.close();
  });
});

describe("the measurements of an appliance", () => {
  let scene: AlarmsFixture;
  let measurements: Measurements;
  let health: HealthMonitor;
  const extra: HealthReason[] = [];
  beforeEach(async () => {
    scene = await openAlarms();
    extra.length = 0;
    const host = {
      disk: async () => ({ free: 30 * GIB, total: 40 * GIB }),
      memory: () => ({ free: 3 * GIB, total: 4 * GIB }),
      loopLagMs: () => 3,
      isClockSynchronised: async () => true,
    };
    const { store, clock, events } = scene;
    measurements = createMeasurements({ store, clock, log: silentLog, host, dataDir: "." });
    health = createHealthMonitor({ clock, events, reader: store, sources: [measurements.healthSource, () => extra] });
    measurements.start();
  });
  afterEach(async () => {
    await measurements.stop();
    health.stop();
    await scene.close();
  });

  it("repeat, and report a clock step for 15 minutes", async () => {
    await scene.clock.advance(15_000);
    expect(measurements.latest).toMatchObject({ loopLagMs: 3, clockSynchronised: true, disk: { total: 40 * GIB } });
    expect(measurements.latest.writeMs).toBeGreaterThanOrEqual(0);
    expect(health.report().status).toBe("GREEN");
    scene.clock.stepWallClock(-3_600_000);
    await scene.clock.advance(10_000);
    expect(health.report().yellowReasons).toEqual(["The clock was set back by 3600.0 s."]);
    await scene.clock.advance(16 * 60_000);
    expect(health.report().status).toBe("GREEN");
  });

  it("record every change once in the history, across restarts", async () => {
    const { store, clock, events, by, endpointId } = scene;
    health = createHealthMonitor({ clock, events, reader: store, sources: [() => extra] });
    const needs = { store, clock, log: silentLog, health, by, endpointId: () => endpointId };
    let history = createHealthHistory(needs);
    history.start();
    const pass = async (): Promise<void> => {
      await clock.advance(5_000);
      await history.idle();
    };
    await pass();
    extra.push({ level: "red", code: "bell", reason: asGiven("A bell was missed.") });
    await pass();
    extra.push({ level: "yellow", code: "disk", reason: asGiven("Little room.") });
    await pass();
    history.stop();
    history = createHealthHistory(needs);
    history.start();
    extra[1] = { level: "yellow", code: "disk", reason: asGiven("Less room.") };
    await pass();
    extra.length = 0;
    await pass();
    history.stop();
    const rows = store.find(systemHealthEvents, {});
    expect(rows.map(({ status, reasons }) => [status, reasons])).toEqual([
      ["RED", ["A bell was missed."]],
      ["RED", ["A bell was missed.", "Little room."]],
      ["GREEN", []],
    ]);
    const [red, yellow] = [ALARM_IDS.onprem_server_red, ALARM_IDS.onprem_server_yellow];
    expect(rows.map(({ alarmIds }) => alarmIds)).toEqual([[red], [yellow], [red, yellow]]);
    expect(rows[2]).toMatchObject({ endpointId, endpointName: "Here", event: { cleared: [{ code: "bell" }, {}] } });
  });

  it("include missed bells for an hour", async () => {
    const { store, clock, events, by, endpointId } = scene;
    health = createHealthMonitor({
      clock,
      events,
      reader: store,
      sources: [missedBellReasons(store, clock, () => endpointId)],
    });
    const about = { extensionId: ONPREM_EXTENSION_ID, endpointId, type: "scheduled-broadcast-skipped" };
    const bell = (localTime: string) => ({ localDate: "2026-01-12", localTime });
    const skip = (severity: string, value: object) =>
      store.create(endpointActivities, { ...about, severity, value }, by);
    await skip("info", bell("07:00:00"));
    expect(health.report().status).toBe("GREEN");
    await skip("error", { ...bell("07:55:00"), reason: "The appliance was not running." });
    await clock.advance(1_800_000);
    await skip("error", { rings: 40, first: bell("08:00:00"), last: bell("08:20:00") });
    const many = "40 bells from 08:00 on 2026-01-12 to 08:20 on 2026-01-12 were missed.";
    const one = "The bell at 07:55 on 2026-01-12 was missed. The appliance was not running.";
    expect(health.report()).toMatchObject({ status: "RED", redReasons: [many, one] });
    await clock.advance(1_800_000);
    expect(health.report().redReasons).toEqual([many]);
  });

  it("include messages that are not sent", async () => {
    const { store, clock, events, by } = scene;
    health = createHealthMonitor({ clock, events, reader: store, sources: [queueHealthReasons(store, clock)] });
    const at = (stage: string) => ({ stage, stageAt: clock.now() });
    const stuck = await store.create(notifications, { subject: "A" }, by, at("resolve"));
    await store.create(notifications, { subject: "B" }, by, at("collect"));
    await clock.advance(20_000);
    expect(health.report().status).toBe("GREEN");
    await clock.advance(20_000);
    expect(health.report().redReasons).toEqual(["1 message has been waiting to be sent for more than 30 s."]);
    await store.update(notifications, stuck.id, {}, by, at("deliver"));
    expect(health.report().status).toBe("GREEN");
  });

  it("are exported as metrics", async () => {
    const events = createEvents(() => undefined);
    const canary = { heardAt: 1_700_000_000_500, misses: 2 };
    const loopGuard = { blocked: new Map([["GET v1/users", { turns: 2, seconds: 0.4 }]]) };
    const options = { reader: scene.store, events, health, measured: measurements.latest };
    const metrics = createMetrics({ ...options, canary, loopGuard });
    await scene.clock.advance(15_000);
    await scene.phone("SEP001122334455");
    events.emit("notification.accepted", { notificationId: "x", priority: 0 });
    extra.push({ level: "red", code: "bell", reason: asGiven("A bell was missed.") });
    const text = await metrics.render();
    for (const line of [
      "carillon_health 2",
      'carillon_loop_blocked_turns_total{work="GET v1/users"} 2',
      'carillon_loop_blocked_seconds_total{work="GET v1/users"} 0.4',
      `carillon_disk_free_bytes ${30 * GIB}`,
      'carillon_alarm_active{type="onprem_server_red"} 0',
      'carillon_devices{type="phones"} 1',
      "carillon_test_broadcast_heard_timestamp_seconds 1700000000.5",
      "carillon_test_broadcast_misses 2",
      'carillon_notifications_accepted_total{priority="0"} 1',
    ]) {
      expect(text.split("\n")).toContain(line);
    }
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    metrics.stop();
  });
});
