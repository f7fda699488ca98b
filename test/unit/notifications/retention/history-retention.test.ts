import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { incidentHooks } from "../../../../src/incidents/incident-hooks.ts";
import { silentLog } from "../../../../src/lib/log.ts";
import { notificationHooks } from "../../../../src/notifications/engine/notification-hooks.ts";
import {
  createHistoryRetention,
  type HistoryRetention,
} from "../../../../src/notifications/retention/history-retention.ts";
import incidents from "../../../../src/resources/incidents/incidents.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import buildings from "../../../../src/resources/places/buildings.ts";
import floors from "../../../../src/resources/places/floors.ts";
import sites from "../../../../src/resources/places/sites.ts";
import zones from "../../../../src/resources/places/zones.ts";
import type { SystemValues } from "../../../../src/schema/resource.ts";
import { defaultSettings } from "../../../../src/settings/schema.ts";
import type { ResourceHooks } from "../../../../src/store/store.ts";
import { createCronScheduler } from "../../../../src/time-zones/cron-schedule.ts";
import { UTC_ONLY } from "../../../../src/time-zones/time-zones.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

const DAY_MS = 86_400_000;
let scene: BroadcastFixture;
let unsent: Set<string>;
let phones: number[];

const count = (table: string): number => scene.store.one<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n ?? -1;

function retention(settings: Partial<ReturnType<typeof defaultSettings>["retention"]> = {}): HistoryRetention {
  return createHistoryRetention({
    ...{ store: scene.store, clock: scene.clock, log: silentLog, by: scene.by },
    settings: { ...defaultSettings().retention, ...settings },
    schedule: createCronScheduler({ clock: scene.clock, zones: UTC_ONLY, ownZone: () => "UTC" }),
    isUnsent: (id) => unsent.has(id),
  });
}

/** A settled message of `days` ago to all phones, one recipient who answered, and two entries of its activity log. */
async function message(
  days: number,
  more: SystemValues<typeof notifications> = {},
): Promise<{ id: string; pk: number }> {
  const at = scene.clock.now() - days * DAY_MS;
  const system = { createdAt: at, stage: "settled", settledAt: at, priorityLevel: 5, ...more };
  const { id, pk } = await scene.store.create(notifications, { subject: "Lunch" }, scene.by, system);
  await scene.store.write((tx) => {
    for (const [n, device] of phones.entries()) {
      tx.run(
        `INSERT INTO main.deliveries (id, created_at, updated_at, notification_pk, device_pk, level, text_only)
         VALUES (uuid7(), ?, ?, ?, ?, ?, 0)`,
        ...[at, at, pk, device, n % 10 === 0 ? "failed" : "playing"],
      );
      tx.run("INSERT INTO notification_device_starts (notification, delivery) VALUES (?, ?)", pk, pk * 1_000 + n);
    }
    tx.run(
      `INSERT INTO main.notification_recipients (id, created_at, updated_at, notification_pk, name, confirmation_response)
       VALUES (uuid7(), ?, ?, ?, 'Ann', 'Yes')`,
      ...[at, at, pk],
    );
    for (const option of [null, "Yes"])
      tx.run(
        `INSERT INTO main.notification_activities (id, created_at, updated_at, notification_pk, type, confirmation_option)
         VALUES (uuid7(), ?, ?, ?, 'confirmation', ?)`,
        ...[at, at, pk, option],
      );
    for (const [name, n] of [
      ["recipients", 1],
      ["answer:Yes", 1],
    ] as const)
      tx.run("INSERT INTO notification_counters VALUES (?, ?, ?)", pk, name, n);
  });
  return { id, pk };
}

const incident = (legalHold: boolean, endedAt: number | null = 1) =>
  scene.store.create(incidents, { name: "Fire", legalHold }, scene.by, { endedAt });

beforeEach(async () => {
  const hooks = { incidents: incidentHooks, notifications: notificationHooks } as Record<string, unknown>;
  scene = await openBroadcasts(hooks as Record<string, ResourceHooks>);
  unsent = new Set();
  const siteId = (await scene.create(sites, { name: "School" })).id;
  const buildingId = (await scene.create(buildings, { name: "North wing", siteId })).id;
  const floorId = (await scene.create(floors, { name: "1", siteId, buildingId })).id;
  const zoneId = (await scene.create(zones, { name: "101", siteId, buildingId, floorId })).id;
  for (let n = 0; n < 120; n++) {
    await scene.phone(`SEP${String(n).padStart(12, "0")}`, n < 70 ? { zoneId } : {});
  }
  phones = scene.store.all<{ pk: number }>("SELECT pk FROM devices ORDER BY pk").map(({ pk }) => pk);
});
afterEach(() => scene.close());

describe("retention of history", () => {
  it("removes the details of old messages and bells and keeps sums by message and place", async () => {
    const old = await message(91);
    await message(120, { notificationSource: "bell-schedule" });
    await message(89);
    const found = await retention().report();
    expect(found.due).toEqual([
      { kind: "incidents", days: 3_650, notifications: 0, deliveries: 0, recipients: 0, oldestAt: null },
      { kind: "emergencies", days: 3_650, notifications: 0, deliveries: 0, recipients: 0, oldestAt: null },
      expect.objectContaining({ kind: "bells", days: 90, notifications: 1, recipients: 1 }),
      expect.objectContaining({ kind: "messages", notifications: 1, oldestAt: scene.clock.now() - 91 * DAY_MS }),
    ]);
    expect(count("deliveries")).toBe(360);
    expect(await retention().run()).toEqual({
      ...{ at: scene.clock.now(), notifications: 2, deliveries: 240, recipients: 2, activities: 4 },
      ...{ answers: 0, positions: 0 },
    });
    const tables = ["deliveries", "notification_recipients", "notification_activities", "notification_device_starts"];
    expect(tables.map(count)).toEqual([120, 1, 2, 120]);
    expect(count("notifications")).toBe(3);
    const sums = scene.store.all("SELECT place, level, n FROM notification_place_sums WHERE notification = ?", old.pk);
    expect(sums).toEqual([
      { place: "", level: "failed", n: 5 },
      { place: "", level: "playing", n: 45 },
      { place: "North wing", level: "failed", n: 7 },
      { place: "North wing", level: "playing", n: 63 },
    ]);
    const counters = scene.store.all("SELECT name, n FROM notification_counters WHERE notification = ?", old.pk);
    expect(counters).toEqual([
      { name: "answer:Yes", n: 1 },
      { name: "level:failed", n: 12 },
      { name: "level:playing", n: 108 },
      { name: "recipients", n: 1 },
    ]);
  });

  it("writes one audit entry with the counts, and none for a run that removes nothing", async () => {
    await message(91);
    await retention().run();
    await retention().run();
    const entries = scene.store.all<{ details: string }>(
      "SELECT details FROM audit_entries WHERE op = 'history-removed'",
    );
    expect(entries.map(({ details }) => JSON.parse(details))).toEqual([
      { notifications: 1, deliveries: 120, recipients: 1, activities: 2, answers: 0, positions: 0 },
    ]);
    expect((await retention().report()).lastRun).toMatchObject({ notifications: 0, deliveries: 0 });
  });

  it.each([
    ["emergency", { priorityLevel: 0 }],
    ["unsettled message", { stage: "collect" }],
  ])("keeps an old %s", async (_name, more) => {
    await message(400, more);
    expect(await retention().run()).toMatchObject({ notifications: 0, deliveries: 0 });
  });

  it.each(["never", 0] as const)("keeps everything of a kind whose days are %s", async (messages) => {
    await message(4_000);
    expect(await retention({ messages, answers: messages }).run()).toMatchObject({ notifications: 0, answers: 0 });
    expect((await retention({ messages }).report()).due.at(-1)).toMatchObject({ days: null, notifications: 0 });
  });

  it("keeps what belongs to an open incident or one under legal hold, until it is lifted", async () => {
    const [held, open, over] = [await incident(true), await incident(false, null), await incident(false)];
    for (const { id } of [held, open, over]) await message(4_000, { incidentId: id });
    expect((await retention().report()).heldNotifications).toBe(2);
    expect(await retention().run()).toMatchObject({ notifications: 1, deliveries: 120 });
    await expect(scene.store.remove(incidents, held.id, scene.by)).rejects.toThrow("legal hold");
    const [row] = scene.store.find(notifications, { incidentId: held.id });
    await expect(scene.store.remove(notifications, row?.id ?? "", scene.by)).rejects.toThrow("legal hold");
    await scene.store.update(incidents, held.id, { legalHold: false }, scene.by);
    expect(await retention().run()).toMatchObject({ notifications: 1, deliveries: 120 });
  });

  it("removes answers of single people in messages whose details stay, and keeps their counts", async () => {
    const { pk } = await message(1_100, { priorityLevel: 0 });
    expect(await retention().run()).toMatchObject({ notifications: 0, deliveries: 0, answers: 1, activities: 1 });
    expect(scene.store.all("SELECT name, confirmation_response AS answer FROM notification_recipients")).toEqual([
      { name: "Ann", answer: null },
    ]);
    expect(
      scene.store.one("SELECT n FROM notification_counters WHERE notification = ? AND name = 'answer:Yes'", pk),
    ).toEqual({ n: 1 });
    expect(await retention().run()).toMatchObject({ answers: 0, activities: 0 });
  });

  it("removes positions after their own time, except those of incidents under legal hold", async () => {
    const user = await scene.user("Ann");
    const ofUser = scene.store.one<{ pk: number }>("SELECT pk FROM users WHERE id = ?", user)?.pk ?? 0;
    const routine = await message(40);
    const held = await message(40, { incidentId: (await incident(true)).id });
    await scene.store.write((tx) => {
      for (const { pk } of [routine, held])
        for (const days of [31, 29])
          tx.run(
            `INSERT INTO notification_tracked_positions (notification, user, device, at, longitude, latitude, accuracy_m)
             VALUES (?, ?, 'd', ?, 4, 51, 5)`,
            ...[pk, ofUser, scene.clock.now() - days * DAY_MS],
          );
    });
    expect(await retention().run()).toMatchObject({ notifications: 0, positions: 1 });
    expect(await retention({ positions: "never" }).run()).toMatchObject({ positions: 0 });
    expect(count("notification_tracked_positions")).toBe(3);
  });

  it("waits for history that the cloud does not have yet", async () => {
    const { id } = await message(91);
    unsent.add(id);
    expect(await retention().run()).toMatchObject({ notifications: 0 });
    unsent.clear();
    expect(await retention().run()).toMatchObject({ notifications: 1 });
  });

  it("removes deliveries again that an appliance restored from a backup has sent once more", async () => {
    const { pk } = await message(91);
    const job = retention();
    await job.run();
    await scene.store.write((tx) => {
      tx.run(
        `INSERT INTO main.deliveries (pk, id, created_at, updated_at, notification_pk, device_pk, level)
         VALUES (9000, uuid7(), 1, 1, ?, ?, 'playing')`,
        ...[pk, phones[0] ?? 0],
      );
    });
    expect(await job.run()).toMatchObject({ notifications: 1, deliveries: 1 });
    expect(count("deliveries")).toBe(0);
  });

  it("runs once a day at its time, never twice at once, and ends with the daemon", async () => {
    await message(91);
    const job = retention({ schedule: "15 4 * * *" });
    job.start();
    await scene.clock.advance(21 * 3_600_000);
    await expect.poll(async () => (await job.report()).waitsUntil).toBe(Date.parse("2026-01-20T04:15:00Z"));
    expect(count("deliveries")).toBe(phones.length);
    for (let days = 0; days < 7; days++) await scene.clock.advance(DAY_MS);
    await expect.poll(() => count("deliveries")).toBe(0);
    expect((await job.report()).waitsUntil).toBeNull();
    await expect.poll(async () => (await job.report()).isRunning).toBe(false);
    const running = job.run();
    await expect(job.run()).rejects.toThrow("already being removed");
    expect(() => job.begin()).toThrow("already being removed");
    await running;
    await job.stop();
    const waiting = scene.clock.pendingTimers();
    await scene.clock.advance(DAY_MS);
    expect(scene.clock.pendingTimers()).toBeLessThanOrEqual(waiting);
  });

  it("waits a week after a jump of the clock, and goes on at once when the clock is right again", async () => {
    const job = retention({ schedule: "15 4 * * *" });
    job.start();
    for (let days = 0; days < 9; days++) await scene.clock.advance(DAY_MS);
    await expect.poll(async () => (await job.report()).lastRun).not.toBeNull();
    await message(10);
    const right = scene.clock.now();
    scene.clock.stepWallClock(4_000 * DAY_MS);
    await scene.clock.advance(DAY_MS);
    await expect.poll(async () => (await job.report()).waitsUntil).toBeGreaterThan(right + 4_000 * DAY_MS);
    expect(count("deliveries")).toBe(phones.length);
    scene.clock.stepWallClock(-4_001 * DAY_MS);
    await scene.clock.advance(DAY_MS);
    await expect.poll(async () => (await job.report()).waitsUntil).toBeNull();
    expect(count("deliveries")).toBe(phones.length);
    await job.stop();
  });
});
