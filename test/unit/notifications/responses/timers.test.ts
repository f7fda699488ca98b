import { afterEach, beforeEach, expect, it } from "vitest";
import type { NotificationRow } from "../../../../src/notifications/compose/message-builder.ts";
import {
  completeTimer,
  createTimerScheduler,
  type NotificationTimer,
  scheduleTimer,
  type TimerScheduler,
} from "../../../../src/notifications/responses/timers.ts";
import { findTrackedPeople } from "../../../../src/notifications/responses/tracked-people.ts";
import { createTrackingEndHandler, endTracking } from "../../../../src/notifications/responses/tracking.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

const PEOPLE = 450;

let fixture: BroadcastFixture;
let watch: TimerScheduler;
let row: NotificationRow;
let done: string[];

beforeEach(async () => {
  fixture = await openBroadcasts({}, undefined, true);
  const seed = await fixture.user("Seed");
  row = await fixture.send({ subject: "?", userIds: [seed] });
  await fixture.store.write((tx) => {
    tx.run(
      `INSERT INTO users (id, created_at, updated_at, name)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       SELECT uuid7(), 0, 0, printf('Person %04d', i) FROM n`,
      PEOPLE,
    );
  });
  done = [];
  const tracking = createTrackingEndHandler(fixture.needs);
  const escalation = async (due: NotificationTimer): Promise<void> => {
    done.push(due.ref);
    await fixture.store.write((tx) => completeTimer(tx, due));
  };
  const ending = (due: NotificationTimer): Promise<void> => {
    done.push("tracking");
    return tracking(due);
  };
  const nothing = async (): Promise<void> => {};
  const handlers = { escalation, "queue-limit": nothing, "catch-up": nothing, repeat: nothing, tracking: ending };
  watch = createTimerScheduler({ ...fixture.needs, handlers });
});
afterEach(async () => {
  await watch.stop();
  await fixture.close();
});

const follow = (until: (name: string) => number) =>
  fixture.store.write((tx) => {
    const sql = "INSERT INTO notification_tracked_users (notification, user, started_at, until) VALUES (?, ?, 0, ?)";
    for (const { pk, name } of tx.all<{ pk: number; name: string }>(
      "SELECT pk, name FROM users WHERE name LIKE 'P%'",
    )) {
      tx.run(sql, row.pk, pk, until(name));
      scheduleTimer(tx, row, { kind: "tracking", ref: "", at: until(name) });
    }
  });
const pass = async (ms: number): Promise<void> => {
  await fixture.clock.advance(ms);
  for (let round = 0; round < 20; round++) await fixture.clock.advance(0);
};
const followed = () =>
  fixture.store.one<{ n: number }>("SELECT count(*) AS n FROM notification_tracked_users WHERE ended_at IS NULL")?.n;
const told = () =>
  fixture.store
    .find(notificationActivities, { notificationId: row.id })
    .filter(({ type }) => type.startsWith("tracking"))
    .map(({ type, details }) => [type, details]);

it("runs escalations before ends, however long those are overdue", async () => {
  const now = fixture.clock.now();
  await fixture.store.write((tx) => {
    for (let n = 0; n < 300; n++) scheduleTimer(tx, row, { kind: "tracking", ref: String(n), at: now - 1_000 });
    for (const ref of ["first", "second"]) scheduleTimer(tx, row, { kind: "escalation", ref, at: now - 1 });
  });
  watch.start();
  await pass(0);
  expect(done.slice(0, 3)).toEqual(["first", "second", "tracking"]);
  expect(fixture.store.one("SELECT count(*) AS n FROM notification_timers")).toEqual({ n: 0 });
});

it("ends the tracking of many with one timer, and later that of those who started later", async () => {
  const now = fixture.clock.now();
  const last = `Person ${String(PEOPLE).padStart(4, "0")}`;
  await follow((name) => now + (name === last ? 90_000 : 60_000));
  watch.start();
  await pass(59_999);
  expect([followed(), done]).toEqual([PEOPLE, []]);
  await pass(1);
  expect([followed(), done.length]).toEqual([1, 1]);
  await pass(30_000);
  expect([followed(), done.length]).toEqual([0, 2]);
  const users = told().map(([, details]) => (details as { users?: number } | null)?.users ?? 1);
  expect(users.reduce((sum, n) => sum + n, 0)).toBe(PEOPLE);
  const tracks = await findTrackedPeople(row.pk, fixture.store, fixture.clock);
  expect(tracks.map(({ endedAt }) => endedAt).slice(-2)).toEqual([now + 60_000, now + 90_000]);
});

it("ends all tracking with the message, also across a restart", async () => {
  const now = fixture.clock.now();
  await follow(() => now + 60_000);
  await fixture.store.write((tx) => endTracking(tx, row, "tracking-terminated", now, fixture.by));
  expect(followed()).toBe(PEOPLE);
  expect(
    new Set((await findTrackedPeople(row.pk, fixture.store, fixture.clock)).map(({ endedAt }) => endedAt)),
  ).toEqual(new Set([now]));
  await fixture.clock.advance(5_000);
  watch.start();
  await pass(0);
  expect(followed()).toBe(0);
  expect(told()).toEqual([["tracking-terminated", { users: PEOPLE }]]);
  expect(
    new Set((await findTrackedPeople(row.pk, fixture.store, fixture.clock)).map(({ endedAt }) => endedAt)),
  ).toEqual(new Set([now]));
});
