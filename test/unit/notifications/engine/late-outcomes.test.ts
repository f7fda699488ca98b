import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { OutcomeDetails, OutcomeLevel } from "../../../../src/plugin-api/index.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import deliveries from "../../../../src/resources/notifications/deliveries.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";
import { type AirFixture, openAir } from "./engine-fixture.ts";

let fixture: BroadcastFixture;
let air: AirFixture;
let userId: string;
let deviceId: string;
beforeEach(async () => {
  fixture = await openBroadcasts();
  userId = await fixture.user("Fay");
  const channel = { name: "Mail", type: "device", deviceType: "email" };
  await fixture.store.create(extensions, channel, fixture.by, { plugin: "email" });
  const device = { userId, type: "email", deviceIdentifier: "fay@example.org" };
  deviceId = (await fixture.create(userDevices, device)).id;
  air = await openAir(fixture);
});
afterEach(async () => {
  await air.notificationService.stop();
  await fixture.close();
});

const tell = async (provider: string, details: OutcomeDetails, level: OutcomeLevel = "failed", more: object = {}) => {
  const deliveryId = air.channels.given.at(-1)?.items.at(-1)?.deliveryId ?? 0;
  air.notificationService.handleOutcomes([{ provider, deliveryId, level, details, at: fixture.clock.now(), ...more }]);
  await air.until(() => false, 20);
  await fixture.clock.advance(100);
};
const accepted = async () => {
  const id = await air.send({ subject: "Fire", userIds: [userId] });
  await fixture.clock.advance(30);
  return id;
};
const levels = (id: string) =>
  fixture.store.all<{ name: string; n: number }>(
    `SELECT name, n FROM notification_counters WHERE name LIKE 'level:%' AND n > 0
     AND notification = (SELECT pk FROM notifications WHERE id = ?)`,
    id,
  );
const BACK = { reason: "the mail came back: no such user", returned: true };

describe("a message returned after acceptance", () => {
  it("fails while the message is active", async () => {
    const id = await accepted();
    await tell("email", { ...BACK, gone: true });
    expect(air.rows(id)).toMatchObject([{ level: "failed", reason: BACK.reason, ended: true }]);
    expect(fixture.store.get(userDevices, deviceId)).toMatchObject({ disabled: true, disabledReason: BACK.reason });
  });

  it("fails hours later and updates the counters, once, reported by its own channel only", async () => {
    const id = await accepted();
    await air.untilSettled(id);
    await fixture.clock.advance(7_200_000);
    expect(levels(id)).toEqual([{ name: "level:accepted", n: 1 }]);
    await tell("sms", BACK);
    await tell("email", { reason: "no" });
    expect(air.rows(id)).toMatchObject([{ level: "accepted" }]);
    for (let n = 0; n < 2; n++) await tell("email", BACK);
    expect(air.rows(id)).toMatchObject([{ level: "failed", reason: BACK.reason }]);
    expect(levels(id)).toEqual([{ name: "level:failed", n: 1 }]);
    expect(fixture.store.get(userDevices, deviceId)?.disabled).toBe(false);
    expect(fixture.store.get(notifications, id)?.stage).toBe("settled");
  });
});

describe("a proof after the end of the message", () => {
  it("raises the level and the counters, never lowers them, and does not revive failed deliveries", async () => {
    const id = await accepted();
    await air.untilSettled(id);
    const changes = () => fixture.told.filter(({ name }) => name === "deliveries.changed").length;
    const before = changes();
    await tell("email", {}, "playing");
    await tell("sms", { afterwards: true }, "playing");
    expect([air.rows(id)[0]?.level, changes()]).toEqual(["accepted", before]);
    for (const level of ["playing", "confirmed", "playing"] as const) await tell("email", { afterwards: true }, level);
    expect([levels(id), changes()]).toEqual([[{ name: "level:confirmed", n: 1 }], before + 2]);
    const { playingAt, provenAt, acceptedAt } = fixture.store.find(deliveries, { notificationId: id })[0] ?? {};
    expect([acceptedAt, playingAt, provenAt].every((at) => typeof at === "number")).toBe(true);
    const other = await accepted();
    await air.untilSettled(other);
    await tell("email", BACK);
    await tell("email", { afterwards: true }, "playing");
    expect(levels(other)).toEqual([{ name: "level:failed", n: 1 }]);
  });

  it("raises a delivery that was accepted and had no report in time", async () => {
    air.channels.manners.set("fay@example.org", { answersAfterMs: null });
    const id = await accepted();
    await tell("email", {}, "sent");
    await fixture.clock.advance(121_000);
    await air.untilSettled(id);
    expect(air.rows(id)).toMatchObject([{ level: "expired", reason: expect.stringContaining("It was accepted") }]);
    await tell("email", { afterwards: true }, "accepted");
    expect(air.rows(id)).toMatchObject([{ level: "accepted", reason: null }]);
    expect(levels(id)).toEqual([{ name: "level:accepted", n: 1 }]);
  });

  it("stores what a microphone recorded, during the message and after it", async () => {
    const match = { pValue: 2e-9, delayMs: 181.5, levelDb: 7.5 };
    const stored = (id: string) => {
      const row = fixture.store.find(deliveries, { notificationId: id })[0];
      return [row?.level, row?.reason, row?.matchPValue, row?.matchDelayMs, row?.matchLevelDb];
    };
    const during = await accepted();
    await tell("email", { afterwards: true, match }, "heard");
    expect(stored(during)).toEqual(["heard", null, 2e-9, 181.5, 7.5]);
    const after = await accepted();
    await air.untilSettled(after);
    expect(stored(after)).toEqual(["accepted", null, null, null, null]);
    await tell("email", { afterwards: true }, "playing");
    const unheard = { reason: "not in the recording", match: { pValue: 0.4, delayMs: 20, levelDb: -9 } };
    await tell("email", { afterwards: true, ...unheard }, "playing");
    expect(stored(after)).toEqual(["playing", unheard.reason, 0.4, 20, -9]);
    await tell("email", { afterwards: true, match }, "heard");
    expect(stored(after)).toEqual(["heard", null, 2e-9, 181.5, 7.5]);
  });

  it("applies an autonomous playback to an abandoned delivery, once", async () => {
    const id = await accepted();
    await tell("email", BACK);
    const alone = { reason: "It did so by itself." };
    await tell("email", alone, "playing", { isAutonomous: true });
    expect(air.rows(id)).toMatchObject([{ level: "playing", reason: alone.reason }]);
    const other = await accepted();
    await air.untilSettled(other);
    await tell("email", BACK);
    for (let n = 0; n < 2; n++) await tell("email", alone, "playing", { isAutonomous: true });
    expect(levels(other)).toEqual([{ name: "level:playing", n: 1 }]);
  });
});
