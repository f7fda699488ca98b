import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createRingExecutor, type RingExecutorDeps } from "../../../src/bells/ring-executor.ts";
import type { RingRow } from "../../../src/bells/ring-repository.ts";
import type { RingExecutor } from "../../../src/bells/ticker.ts";
import { UNSHARED_GROUP_ID } from "../../../src/devices/activation-groups.ts";
import { invalidValue, UpstreamError } from "../../../src/lib/errors.ts";
import { derivedId, newId } from "../../../src/lib/ids.ts";
import type { NotificationService, SendOptions } from "../../../src/notifications/notification-service.ts";
import bellSchedules from "../../../src/resources/bells/bell-schedules.ts";
import ringLists from "../../../src/resources/bells/ring-lists.ts";
import endpointActivities from "../../../src/resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import type { ActorContext } from "../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

let fixture: BroadcastFixture;
let port: RingExecutor;
let portDeps: RingExecutorDeps;
let schedule: string;
let list: string;
let group: string;
/** Calls of the notification service, such as `release <id>`. */
let calls: string[];
let fault: Error | null;
let rings = 0;

beforeAll(async () => {
  fixture = await openBroadcasts();
  const { create, store, by } = fixture;
  await fixture.phone("SEP001122334401");
  const all = await fixture.group("All", ["SEP001122334401"]);
  group = await fixture.group("Everywhere", ["SEP001122334401"]);
  const { id: messageTemplateId } = await create(messageTemplates, {
    name: "Bell",
    subject: "Bell",
    deviceGroupIds: [all],
  });
  const entry = { id: "own", time: "08:00:00", messageTemplateId, deviceGroupIds: [], distributionListIds: [] };
  const { id: people } = await create(distributionLists, { name: "People" });
  const entries = [
    ...[entry, { ...entry, id: "instead", deviceGroupIds: [group] }],
    { ...entry, id: "people", distributionListIds: [people] },
  ];
  list = (await create(ringLists, { name: "Normal day", entries })).id;
  const span = { startDate: "2026-01-01", endDate: "2026-12-31", timeZone: "Etc/UTC", numWeeks: 1 };
  schedule = (await create(bellSchedules, { name: "Every day", ...span, bellScheduleEntries: [] })).id;
  const record = (what: string) => (id: string) => void calls.push(`${what} ${id}`);
  const notificationService = {
    send: async (input: Record<string, unknown>, sender: ActorContext, options: SendOptions) => {
      if (fault) throw fault;
      return fixture.send(input, options, sender);
    },
    ...{
      releaseHold: record("release"),
      startHeldAt: (id: string, at: number) => void calls.push(`begin ${id} ${at}`),
    },
    ...{ discardHeld: async (id: string) => record("discard")(id), abort: async (id: string) => record("abort")(id) },
    clearDisplays: () => void calls.push("clear"),
  } as unknown as NotificationService;
  const { clock, needs, endpointId } = fixture;
  portDeps = {
    store,
    by,
    clock,
    log: needs.log,
    notificationService,
    endpointId: () => endpointId,
    signal: new AbortController().signal,
  };
  port = createRingExecutor(portDeps);
});
beforeEach(() => {
  calls = [];
  fault = null;
});
afterAll(() => fixture.close());

const ring = (more: Partial<RingRow> = {}): RingRow => ({
  ...{ pk: ++rings, id: `01900000-0000-7000-8000-${String(rings).padStart(12, "0")}`, kind: "bell", owner: schedule },
  ...{ at: fixture.clock.now() + 30_000, localDate: "2026-01-12", localTime: "08:00:00", ringListId: list },
  ...{ entryId: "own", messageTemplateId: null, state: "planned", asked: 0, ...more },
});
const messageOf = ({ id }: RingRow) => fixture.store.get(notifications, id);
const change = (id: string, columns: string, ...values: (string | number)[]): Promise<void> =>
  fixture.store.write((tx) => void tx.run(`UPDATE notifications SET ${columns} WHERE id = ?`, ...values, id));

it("sends a failover ring once, for devices only, when the duty passes to this node", async () => {
  const { clock, store } = fixture;
  const turns: Record<string, "go" | "wait" | "yield"> = { gone: "wait", there: "wait" };
  const shared = createRingExecutor({ ...portDeps, failoverDuty: (_id, _at, cover) => turns[cover] ?? "wait" });
  const due = ring();
  await shared.prepare(due);
  await store.write((tx) => {
    for (const cover of ["gone", "there"])
      tx.run("INSERT INTO notification_standby_groups (notification, cover) VALUES (?, ?)", due.id, cover);
  });
  expect([shared.duty?.(due), shared.duty?.(due)]).toEqual(["go", "go"]);
  await clock.advance(100);
  expect(calls).toEqual([]);
  Object.assign(turns, { gone: "go", there: "yield" });
  await clock.advance(100);
  const id = derivedId(due.id, "stand-in", "gone");
  await expect.poll(() => calls).toEqual([`release ${id}`, `begin ${id} ${due.at}`]);
  expect(store.get(notifications, id)).toMatchObject({
    ...{ heldUntil: due.at, notificationSource: "bell-schedule", userIds: [], distributionListIds: [] },
    deviceGroupIds: messageOf(due)?.deviceGroupIds,
  });
  expect(store.all("SELECT ring, cover FROM notification_failover_rings WHERE notification = ?", id)).toEqual([
    { ring: due.id, cover: "gone" },
  ]);
  // The schedule was written in the last moment.
  await shared.cancel(due);
  expect(calls.slice(2)).toEqual([`abort ${id}`, `discard ${due.id}`]);
});

it("replans a ring with an outdated assignment a few times, until a device was contacted or a failover ring was sent", async () => {
  const { clock, store } = fixture;
  const shared = createRingExecutor({ ...portDeps, isAssignmentOutdated: () => true, failoverDuty: () => "go" });
  const due = ring({ state: "prepared" });
  expect(shared.duty?.({ ...due, asked: 1 })).toBe("go");
  expect([1, 2, 3, 4].map(() => shared.duty?.(due))).toEqual(["replan", "replan", "replan", "go"]);
  const stood = ring({ state: "prepared" });
  const watching = createRingExecutor({
    ...portDeps,
    isAssignmentOutdated: () => calls.length > 0,
    failoverDuty: () => "go",
  });
  await watching.prepare(stood);
  const left = "INSERT INTO notification_standby_groups (notification, cover) VALUES (?, 'gone')";
  await store.write((tx) => void tx.run(left, stood.id));
  expect(watching.duty?.(stood)).toBe("go");
  await clock.advance(100);
  await expect.poll(() => calls.length).toBe(2);
  expect(watching.duty?.(stood)).toBe("go");
});

it("sends no failover ring while a ring is being replanned", async () => {
  const { clock, store } = fixture;
  let isStale = false;
  const turns: ("go" | "wait")[] = [];
  const shared = createRingExecutor({
    ...{ ...portDeps, isAssignmentOutdated: () => isStale },
    failoverDuty: () => {
      turns.push(isStale ? "go" : "wait");
      return turns.at(-1) as "go" | "wait";
    },
  });
  const due = ring({ state: "prepared" });
  await shared.prepare(due);
  const left = "INSERT INTO notification_standby_groups (notification, cover) VALUES (?, 'gone')";
  await store.write((tx) => void tx.run(left, due.id));
  expect(shared.duty?.(due)).toBe("go");
  await clock.advance(100);
  expect(turns).toContain("wait");
  isStale = true;
  expect(shared.duty?.(due)).toBe("replan");
  await clock.advance(1_000);
  expect(turns).not.toContain("go");
});

it("sends a failover ring for unshared devices when another node rings the rest", async () => {
  const { clock, store } = fixture;
  const shared = createRingExecutor({ ...portDeps, duty: () => "yield", failoverDuty: () => "go" });
  const due = ring({ state: "armed", asked: 1 });
  await shared.prepare(due);
  for (const cover of ["g", UNSHARED_GROUP_ID]) {
    const sql = "INSERT INTO notification_failover_groups (notification, cover) VALUES (?, ?)";
    await store.write((tx) => void tx.run(sql, due.id, cover));
  }
  expect(shared.duty?.(due)).toEqual({ standDown: "Rung by another appliance." });
  await shared.cancel(due);
  await clock.advance(100);
  const id = derivedId(due.id, "stand-in", UNSHARED_GROUP_ID);
  await expect.poll(() => calls).toEqual([`abort ${due.id}`, `release ${id}`, `begin ${id} ${due.at}`]);
});

it("retries a failed failover ring and never notifies people with it", async () => {
  const { clock, store } = fixture;
  const shared = createRingExecutor({ ...portDeps, failoverDuty: () => "go" });
  const [due, forPeople] = [ring(), ring({ entryId: "people" })];
  for (const each of [due, forPeople]) {
    await shared.prepare(each);
    const sql = "INSERT INTO notification_standby_groups (notification, cover) VALUES (?, 'gone')";
    await store.write((tx) => void tx.run(sql, each.id));
  }
  fault = new UpstreamError("upstream", "The disk is full.");
  for (const each of [due, forPeople]) shared.duty?.(each);
  await clock.advance(100);
  expect(calls).toEqual([]);
  fault = null;
  const id = derivedId(due.id, "stand-in", "gone");
  await expect.poll(() => clock.advance(100).then(() => calls)).toEqual([`release ${id}`, `begin ${id} ${due.at}`]);
  expect(store.get(notifications, derivedId(forPeople.id, "stand-in", "gone"))).toBeNull();
  // After a restart it is taken up by itself.
  calls = [];
  const again = createRingExecutor({ ...portDeps, failoverDuty: () => "go" });
  again.duty?.(due);
  await clock.advance(200);
  expect(calls).toEqual([]);
});

describe("prepare", () => {
  it("stores the held notification once, under the id of the ring", async () => {
    const one = ring({ entryId: "instead" });
    expect([await port.prepare(one), await port.prepare(one)]).toEqual([null, null]);
    expect(messageOf(one)).toMatchObject({
      ...{ notificationSource: "bell-schedule", initiationSourceDescription: "Every day" },
      ...{ heldUntil: one.at, notAfter: one.at + 30_000, deviceGroupIds: [group] },
    });
  });

  it("returns the reason why there is nothing to ring", async () => {
    const gone = "The schedule or ring list entry no longer exists.";
    for (const more of [{ entryId: "other" }, { ringListId: null }, { kind: "message" as const }]) {
      expect(await port.prepare(ring(more))).toBe(gone);
    }
    fault = invalidValue("deviceGroupIds", "Nobody is to get it.");
    expect(await port.prepare(ring())).toBe("Field deviceGroupIds is not valid. Nobody is to get it.");
    fault = null;
    const off = ring();
    await port.prepare(off);
    await change(off.id, "aborted_at = ?", 1);
    expect(await port.prepare(off)).toBe("The ring was cancelled earlier.");
  });

  it("throws errors that a retry may fix, and does nothing for a display-clear schedule", async () => {
    fault = new UpstreamError("upstream", "The disk is full.");
    await expect(port.prepare(ring())).rejects.toThrow("The disk is full.");
    expect(await port.prepare(ring({ kind: "clearing" }))).toBeNull();
  });
});

describe("the instant of a ring", () => {
  it("arms the most urgent ring first and clears displays", async () => {
    const [plain, urgent, emergency] = [ring(), ring(), ring()];
    for (const each of [plain, urgent, emergency]) await port.prepare(each);
    const overrides = JSON.stringify({ [ONPREM_EXTENSION_ID]: { priority: 1 } });
    await change(urgent.id, "effective_settings = NULL, extension_settings_overrides = ?", overrides);
    await change(emergency.id, "priority_level = ?", 0);
    port.arm([plain, urgent, ring({ kind: "clearing" }), emergency]);
    expect(calls).toEqual([emergency, urgent, plain].map(({ id }) => `release ${id}`));
    calls = [];
    port.start([plain, ring({ kind: "clearing" })]);
    expect(calls).toEqual([`begin ${plain.id} ${plain.at}`, "clear"]);
  });

  it("has started once the first packet was sent, or without audio once the devices were contacted", async () => {
    const one = ring();
    expect([port.hasStarted(one), port.hasStarted(ring({ kind: "clearing" }))]).toEqual([false, true]);
    await port.prepare(one);
    expect(port.hasStarted(one)).toBe(false);
    const text = ring();
    await port.prepare(text);
    await change(text.id, "stage = ?", "collect");
    expect(port.hasStarted(text)).toBe(true);
    await change(one.id, "t0 = ?", one.at);
    expect(port.hasStarted(one)).toBe(true);
  });

  it("discards the notification before devices were contacted and aborts it afterwards", async () => {
    const one = ring();
    await port.cancel(one);
    expect(calls).toEqual([]);
    await port.prepare(one);
    await port.cancel(one);
    await port.cancel({ ...one, asked: 1 });
    expect(calls).toEqual([`discard ${one.id}`, `abort ${one.id}`]);
  });
});

it("records missed rings one by one, or many in one summary", async () => {
  const missed = () => fixture.store.find(endpointActivities, { type: "scheduled-broadcast-skipped" });
  const record = (count: number) =>
    fixture.store.write((tx) =>
      port.recordMissed(
        tx,
        Array.from({ length: count }, () => ring()),
        "stalled",
      ),
    );
  await record(2);
  expect(missed().map(({ value }) => value)).toEqual(
    Array(2).fill(expect.objectContaining({ scheduleId: schedule, reason: "The appliance stalled." })),
  );
  await record(21);
  expect(missed()).toHaveLength(3);
  expect(missed().map(({ value }) => (value as { rings?: number }).rings)).toContain(21);
});

it("names the scheduled notification of a missed ring", async () => {
  const owner = newId();
  await fixture.store.write((tx) => port.recordMissed(tx, [ring({ kind: "message", owner }), ring()], "down"));
  const missed = fixture.store.find(endpointActivities, { type: "scheduled-broadcast-skipped" });
  expect(missed.map(({ referenceType, referenceId }) => [referenceType, referenceId])).toEqual(
    expect.arrayContaining([
      ["scheduled-notifications", owner],
      [null, null],
    ]),
  );
});
