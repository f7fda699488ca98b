import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NotificationRow } from "../../../../src/notifications/compose/message-builder.ts";
import { progressOverTime } from "../../../../src/notifications/engine/delivery-progress.ts";
import { APPLIANCES_PROVIDER } from "../../../../src/notifications/engine/delivery-providers.ts";
import collaborationGroups from "../../../../src/resources/collaboration/collaboration-groups.ts";
import deviceGroups from "../../../../src/resources/devices/device-groups.ts";
import devices from "../../../../src/resources/devices/devices.ts";
import endpoints from "../../../../src/resources/devices/endpoints.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import deliveries from "../../../../src/resources/notifications/deliveries.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notificationRecipients from "../../../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import subscriptions from "../../../../src/resources/people/subscriptions.ts";
import type { BroadcastFixture } from "../notification-fixture.ts";
import { type AirFixture, openScene, type Scene, sounding } from "./engine-fixture.ts";

let scene: Scene;
let fixture: BroadcastFixture;
let air: AirFixture;
const PHONES = [1, 2, 3].map((n) => `SEP00112233440${n}`);
const [ONE = "", TWO = "", THREE = ""] = PHONES;
const REFUSED = { fails: { reason: "It refused our password.", retryable: false, times: 1 } };

beforeEach(async () => {
  scene = await openScene(PHONES);
  ({ fixture, air } = scene);
});
afterEach(() => scene.close());

const row = (id: string) => fixture.store.get(notifications, id);
const send = (more: Record<string, unknown> = {}) =>
  air.send({ subject: "Fire drill", ...sounding(4_000), deviceGroupIds: [scene.everywhere], ...more });
const retry = async (id: string) => {
  const answered = await air.notificationService.retry(id, fixture.by);
  await air.untilSettled(id);
  return answered;
};
const asked = (from = 0) => air.channels.asked().slice(from);
const settled = async (more?: Record<string, unknown>) => {
  const id = await send(more);
  await air.untilSettled(id);
  return id;
};

describe("retry", () => {
  it("asks only unreached devices again", async () => {
    air.channels.manners.set(ONE, REFUSED);
    const id = await settled({ drill: true });
    expect(air.ledger(id)).toEqual({ [ONE]: "failed", [TWO]: "playing", [THREE]: "playing", "zone:gym1": "sent" });
    const [first] = fixture.store.find(deliveries, { notificationId: id, level: "failed" }, 1);
    const before = asked().length;
    const group = row(id)?.audioGroup;

    const answered = await retry(id);
    expect(answered).toMatchObject({ id, drill: true });
    expect(asked(before)).toEqual([ONE]);
    expect(air.ledger(id)).toEqual({ [ONE]: "playing", [TWO]: "playing", [THREE]: "playing", "zone:gym1": "sent" });
    expect(fixture.store.count(deliveries, { notificationId: id })).toBe(4);
    const again = fixture.store.get(deliveries, first?.id ?? "");
    expect(again).toMatchObject({ level: "playing", attempt: 2, reason: null });
    expect(again?.sentAt ?? 0).toBeGreaterThan(first?.endedAt ?? 0);
    expect(row(id)).toMatchObject({ stage: "settled", drill: true });
    // The wait starts again here: health counts long waits.
    expect(row(id)?.stageAt).toBe(row(id)?.retriedAt);
    // Phones may still listen to the first group: it rests.
    expect(row(id)?.audioGroup).not.toBe(group);
    expect(air.diary(id).filter((type) => type === "broadcast-finished")).toHaveLength(2);
    const notes = fixture.store.find(notificationActivities, { notificationId: id, type: "info" }, 5);
    expect(notes.map(({ details }) => details)).toContainEqual({
      devices: 1,
      message: "Sent again to 1 that it had not reached or that missed the audio.",
    });
  });

  it("uses the current configuration", async () => {
    air.channels.states.set("ip-phones", "disabled");
    air.channels.states.set("multicast-zones", "disabled");
    const id = await settled();
    expect(air.ledger(id)).toEqual({ [ONE]: "failed", [TWO]: "failed", [THREE]: "failed", "zone:gym1": "failed" });
    air.channels.states.set("ip-phones", "running");
    await retry(id);
    expect(asked()).toEqual(PHONES);
    expect(air.ledger(id)).toMatchObject({ [ONE]: "playing", "zone:gym1": "failed" });
    air.channels.states.set("multicast-zones", "running");
    await retry(id);
    expect(asked()).toEqual([...PHONES, "zone:gym1"]);
    expect(air.ledger(id)).toMatchObject({ [ONE]: "playing", "zone:gym1": "sent" });
  });

  it("sends to groups of other systems with their properties, and again where that failed", async () => {
    const group = { type: "chat-rooms", properties: { channel: "Front office", members: 3 } };
    const made = { name: "chat", type: "collaboration", deviceType: "chat-rooms" };
    await fixture.store.create(extensions, made, fixture.by, { plugin: "chat" });
    const office = await fixture.create(collaborationGroups, { name: "Office", ...group });
    const gym = await fixture.create(collaborationGroups, { name: "Gym", ...group });
    air.channels.manners.set("Gym", REFUSED);
    const id = await air.send({ subject: "Fire drill", collaborationGroupIds: [office.id, gym.id], userIds: [] });
    await air.untilSettled(id);
    expect(air.ledger(id)).toEqual({ [office.id]: "accepted", [gym.id]: "failed" });
    const attributes = { channel: "Front office", members: "3" };
    const items = air.channels.given.flatMap((given) => given.items);
    expect(items[0]).toMatchObject({ device: { id: office.id, deviceIdentifier: "Office", attributes }, audio: null });
    expect(items[0]).toMatchObject({ sentAt: row(id)?.createdAt, expiresAt: null });
    await retry(id);
    expect(asked()).toEqual(["Office", "Gym", "Gym"]);
    expect(air.ledger(id)).toEqual({ [office.id]: "accepted", [gym.id]: "accepted" });
  });

  it("reaches devices of another appliance by the link, once it exists", async () => {
    const { extensionId } = fixture.store.find(devices, { deviceIdentifier: THREE }, 1)[0] ?? { extensionId: "" };
    const other = await fixture.store.create(endpoints, { extensionId, name: "Annex" }, fixture.by);
    await fixture.store.write(
      (tx) => void tx.run("UPDATE devices SET endpoint_pk = ? WHERE device_identifier = ?", other.pk, THREE),
    );
    air.channels.states.set(APPLIANCES_PROVIDER, "absent");
    const id = await settled();
    expect(air.ledger(id)[THREE]).toBe("failed");
    air.channels.states.set(APPLIANCES_PROVIDER, "running");
    const before = asked().length;
    await retry(id);
    expect(asked(before)).toEqual([THREE]);
    const [carried] = fixture.store.find(deliveries, { notificationId: id, endpointId: other.id }, 1);
    expect(carried).toMatchObject({ provider: APPLIANCES_PROVIDER, attempt: 1, reason: null });
  });

  it("skips devices that were deleted", async () => {
    air.channels.manners.set(ONE, REFUSED);
    const id = await settled();
    const [device] = fixture.store.find(devices, { deviceIdentifier: ONE }, 1);
    await fixture.store.remove(devices, device?.id ?? "", fixture.by);
    await expect(air.notificationService.retry(id, fixture.by)).rejects.toMatchObject({ type: "conflict" });
  });

  it("continues after a crash without asking a device twice", async () => {
    air.channels.manners.set(ONE, REFUSED);
    air.channels.manners.set(TWO, REFUSED);
    const id = await settled();
    const before = asked().length;
    await air.notificationService.retry(id, fixture.by);
    air.crash();
    await air.restart();
    await air.untilSettled(id);
    expect(asked(before).sort()).toEqual([ONE, TWO]);
    expect(air.ledger(id)).toMatchObject({ [ONE]: "playing", [TWO]: "playing", [THREE]: "playing" });
  });

  it.each([
    ["a preview", "preview", async () => (await fixture.send({ ...DRAFT(), draft: true })).id],
    ["one in progress", "still being sent", () => send()],
    ["one that reached everything", "Every device was reached", () => settled()],
    [
      "an aborted one",
      "ended by a user",
      async () => {
        air.channels.manners.set(ONE, REFUSED);
        const id = await send();
        await air.notificationService.abort(id, fixture.by);
        await air.untilSettled(id);
        return id;
      },
    ],
    [
      "one that has expired",
      "has expired",
      async () => {
        air.channels.manners.set(ONE, REFUSED);
        const id = await settled({ expiration: 60 });
        await fixture.clock.advance(61_000);
        return id;
      },
    ],
  ])("rejects %s with a reason and changes nothing", async (_, words, make) => {
    const id = await make();
    const [before, diary] = [row(id), air.diary(id).length];
    await expect(air.notificationService.retry(id, fixture.by)).rejects.toMatchObject({
      type: "conflict",
      message: expect.stringContaining(words),
    });
    expect(row(id)).toEqual(before);
    expect(air.diary(id)).toHaveLength(diary);
    if (row(id)?.stage !== "draft") await air.untilSettled(id);
  });

  it("accepts only notifications that the caller sees", async () => {
    const id = "0190a6f0-0000-7000-8000-000000000000";
    await expect(air.notificationService.retry(id, fixture.by)).rejects.toMatchObject({ type: "not-found" });
  });
});

const DRAFT = () => ({ subject: "x", deviceGroupIds: [scene.everywhere] });
const OPTIONS = { source: "api" } as const;

describe("the all-clear", () => {
  it("goes to the recipients of the message, with its priority, and as a drill if it was one", async () => {
    const id = await settled({ drill: true, priority: "critical" });
    const before = asked().length;
    const sent = await air.notificationService.sendAllClear(id, {}, fixture.by, OPTIONS);
    await air.untilSettled(sent.id);
    expect(sent).toMatchObject({
      subject: "All clear: Fire drill",
      alertTone: "all-clear1",
      drill: true,
      priority: "critical",
      deviceGroupIds: [scene.everywhere],
      parentNotificationId: id,
      followUpForNotificationId: id,
    });
    expect(asked(before).sort()).toEqual([...PHONES, "zone:gym1"]);
    expect(row(id)?.abortedAt).toBeNull();
  });

  it("is sent once for concurrent requests, and again on request or if the first was stopped", async () => {
    const id = await settled({ priority: "critical" });
    const clear = (options: object = {}) =>
      air.notificationService.sendAllClear(id, {}, fixture.by, { ...OPTIONS, ...options });
    const both = await Promise.allSettled([clear(), clear()]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await expect(clear()).rejects.toMatchObject({ type: "conflict", field: "again" });
    const sent = () => fixture.store.find(notifications, { parentNotificationId: id });
    expect(sent()).toHaveLength(1);
    const { id: second } = await clear({ again: true });
    for (const one of sent()) await air.notificationService.abort(one.id, fixture.by);
    expect(row(second)?.abortedAt).not.toBeNull();
    await clear();
    expect(sent()).toHaveLength(3);
    await expect(clear()).rejects.toMatchObject({ type: "conflict" });
  });

  it("is sent once per incident, until the incident has a further message", async () => {
    const first = await settled({ priority: "critical" });
    const later = await settled({ priority: "critical" });
    const clear = (of: string) =>
      air.notificationService.sendAllClear(of, {}, fixture.by, {
        ...OPTIONS,
        alsoFor: [first, later].filter((id) => id !== of),
      });
    await clear(first);
    await expect(clear(later)).rejects.toMatchObject({ type: "conflict" });
    const further = await settled({ priority: "critical" });
    const options = { ...OPTIONS, alsoFor: [first, later] };
    await expect(air.notificationService.sendAllClear(further, {}, fixture.by, options)).resolves.toMatchObject({
      drill: false,
    });
  });

  it("ends a message in progress", async () => {
    const id = await send({ priority: "critical", ...sounding(20_000) });
    await fixture.clock.advance(2_000);
    const words = { subject: "Vorbei", body: "Alles gut." };
    const sent = await air.notificationService.sendAllClear(id, words, fixture.by, OPTIONS);
    await air.untilSettled(sent.id);
    expect(row(id)?.abortedAt).not.toBeNull();
    expect(sent).toMatchObject({ ...words, drill: false });
    expect(air.ledger(sent.id)).toMatchObject({ [ONE]: "playing", "zone:gym1": "sent" });
  });

  it("sends the prepared text to all recipients, including those who have left its groups", async () => {
    const words = { allClearSubject: "Come out, {{who}}", allClearBody: "Go back to class." };
    const userId = await fixture.user("Ann");
    const list = await fixture.list("All", [userId]);
    const phones = await fixture.group("Some", [ONE, TWO]);
    const custom = { ...words, customVars: { who: "all" }, distributionListIds: [list], deviceGroupIds: [phones] };
    const id = await settled({ priority: "critical", ...custom });
    const [subscription] = fixture.store.find(subscriptions, { userId }, 1);
    await fixture.store.remove(subscriptions, subscription?.id ?? "", fixture.by);
    await fixture.store.update(deviceGroups, phones, { additionIds: [TWO] }, fixture.by);
    const before = asked().length;
    const sent = await air.notificationService.sendAllClear(id, {}, fixture.by, OPTIONS);
    await air.untilSettled(sent.id);
    expect(sent).toMatchObject({ subject: "Come out, all", body: "Go back to class." });
    expect(asked(before).sort()).toEqual([ONE, TWO]);
    expect(fixture.store.find(notificationRecipients, { notificationId: sent.id }).map((one) => one.userId)).toEqual([
      userId,
    ]);
  });

  it("rejects a preview", async () => {
    const draft = await fixture.send({ ...DRAFT(), draft: true });
    await expect(air.notificationService.sendAllClear(draft.id, {}, fixture.by, OPTIONS)).rejects.toMatchObject({
      type: "conflict",
    });
  });
});

describe("a follow-up", () => {
  it("inherits the drill and rejects a mismatch", async () => {
    const id = await settled({ drill: true });
    const before = row(id);
    const input = { ...DRAFT(), followUpForNotificationId: id };
    await expect(fixture.send(input)).resolves.toMatchObject({ drill: true, parentNotificationId: id });
    await expect(fixture.send({ ...input, drill: false })).rejects.toMatchObject({
      faults: [{ field: "drill", type: "invalid-value" }],
    });
    expect(row(id)).toEqual(before);
  });

  it("rejects a missing notification and a preview", async () => {
    const draft = await fixture.send({ ...DRAFT(), draft: true });
    for (const followUpForNotificationId of [draft.id, "0190a6f0-0000-7000-8000-000000000000"]) {
      await expect(fixture.send({ ...DRAFT(), followUpForNotificationId })).rejects.toMatchObject({
        faults: [{ field: "followUpForNotificationId" }],
      });
    }
  });
});

describe("progress over time", () => {
  const progress = (id: string) => progressOverTime(row(id) as NotificationRow, fixture.store, fixture.clock);

  it("grows to the numbers of the ledger, and restarts with a retry", async () => {
    air.channels.manners.set(ONE, REFUSED);
    const id = await settled();
    const points = await progress(id);
    expect(points.length).toBeLessThanOrEqual(61);
    expect(points[0]?.at).toBe(row(id)?.createdAt);
    expect(points.at(-1)).toMatchObject({ sent: 3, accepted: 3 - 1, playing: 2, missed: 1 });
    for (const name of ["sent", "accepted", "playing", "missed"] as const) {
      const numbers = points.map((point) => point[name]);
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    }
    await retry(id);
    const again = await progress(id);
    expect(again[0]).toMatchObject({ at: row(id)?.retriedAt, playing: 2, missed: 0 });
    expect(again.at(-1)).toMatchObject({ playing: 3, missed: 0 });
  });
});

describe("a preview", () => {
  it("counts devices that another message holds", async () => {
    const free = await fixture.send({ ...DRAFT(), draft: true });
    expect(previewOf(free.id)).toMatchObject({ inUse: 0 });
    const id = await send();
    await fixture.clock.advance(1_500);
    const busy = await fixture.send({ ...DRAFT(), draft: true });
    expect(previewOf(busy.id)).toMatchObject({ inUse: 4 });
    await air.untilSettled(id);
  });
});

function previewOf(id: string): unknown {
  const found = fixture.store.one<{ found: string }>(
    "SELECT found FROM notification_previews WHERE notification = (SELECT pk FROM notifications WHERE id = ?)",
    id,
  );
  return JSON.parse(found?.found ?? "null");
}
