import { afterEach, beforeEach, describe, expect, it } from "vitest";
import deviceGroups from "../../../../src/resources/devices/device-groups.ts";
import { ONPREM_EXTENSION_ID } from "../../../../src/resources/devices/on-premises-extension.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import { openScene, type Scene, sounding } from "./engine-fixture.ts";

let scene: Scene;
let office: string;
beforeEach(async () => {
  scene = await openScene(["SEP001", "SEP002"]);
  await scene.fixture.phone("SEP009");
  office = await scene.fixture.group("Office", ["SEP009"]);
});
afterEach(() => scene.close());

const pass = async (ms: number): Promise<void> => {
  await scene.fixture.clock.advance(ms);
  for (let round = 0; round < 50; round++) await scene.fixture.clock.advance(0);
};
/** Keeps all devices busy for a minute, and then sends something as urgent. */
async function waiting(settings: object): Promise<string> {
  const sound = sounding(60_000, { priority: 5 });
  await scene.air.send({ subject: "Music", deviceGroupIds: [scene.everywhere], ...sound });
  return scene.air.send({ subject: "Lunch", deviceGroupIds: [scene.everywhere], ...sounding(2_000, settings) });
}
const children = (parentNotificationId: string) => scene.fixture.store.find(notifications, { parentNotificationId });

describe("a message that waits for its devices", () => {
  it("stops waiting at its limit, and notifies a group once", async () => {
    const queue = { queuedSendThreshold: 10, queuedFailureRecipientGroup: office };
    const id = await waiting({ ...queue, queuedFailureText: "{{subject}} missed {{devices}} after {{seconds}} s" });
    await pass(9_900);
    expect([scene.air.ledger(id).SEP001, children(id)]).toEqual(["planned", []]);
    await pass(200);
    expect(scene.air.rows(id).find(({ identifier }) => identifier === "SEP001")).toMatchObject({
      level: "expired",
      reason: "The device was busy for 10 s, the maximum wait of the message.",
    });
    const told = children(id);
    expect(told).toMatchObject([
      { body: "Lunch missed 2 after 10 s", deviceGroupIds: [office], initiationSourceType: "queued-failure" },
    ]);
    expect(scene.air.channels.asked()).toContain("SEP009");
    await scene.air.restart();
    await pass(120_000);
    expect(children(id)).toHaveLength(1);
    expect(children(told[0]?.id ?? "")).toEqual([]);
  });

  it("waits until its deadline as an emergency", async () => {
    const { send, rows } = scene.air;
    await send({ subject: "Fire", priority: "critical", deviceGroupIds: [scene.everywhere], ...sounding(60_000) });
    const own = { priority: "critical", ...sounding(2_000, { queuedSendThreshold: 1 }) };
    const id = await send({ subject: "Smoke", deviceGroupIds: [scene.everywhere], ...own });
    await pass(5_000);
    expect(rows(id).find(({ identifier }) => identifier === "SEP001")).toMatchObject({ level: "planned" });
  });

  it("notifies the group at the deadline without a limit, and no one if no device waited", async () => {
    const id = await waiting({ queuedFailureRecipientGroup: office });
    await pass(58_000);
    const direct = await scene.air.send({
      subject: "Free",
      deviceGroupIds: [office],
      ...sounding(2_000, { queuedSendThreshold: 1, queuedFailureRecipientGroup: office }),
    });
    await pass(119_000);
    expect([children(id), children(direct)]).toEqual([[], []]);
  });

  it("logs the failure where the group was deleted", async () => {
    const id = await waiting({ queuedSendThreshold: 1, queuedFailureRecipientGroup: office });
    await scene.fixture.store.remove(deviceGroups, office, scene.fixture.by);
    await pass(1_500);
    const words = scene.fixture.store
      .find(notificationActivities, { notificationId: id, type: "info" })
      .map(({ details }) => (details as { message: string }).message);
    expect(words).toEqual([
      expect.stringContaining("for 3 devices for 1 s"),
      expect.stringContaining("could not be notified"),
    ]);
  });

  it("may notify only a group that its sender sees", async () => {
    const settings = { queuedFailureRecipientGroup: "01900000-0000-7000-8000-000000000001" };
    await expect(waiting(settings)).rejects.toThrow("device group not found");
    await expect(waiting({ queuedFailureRecipientGroup: 7 })).rejects.toThrow("queuedFailureRecipientGroup");
  });
});

describe("devices that do not answer", () => {
  const silent = { fails: { reason: "no route", retryable: true } };
  const tries = (id: string) => scene.air.rows(id).find(({ identifier }) => identifier === "SEP001");
  const page = (settings: object, more: object = {}) =>
    scene.air.send({
      subject: "Page",
      deviceGroupIds: [scene.everywhere],
      extensionSettingsOverrides: { [ONPREM_EXTENSION_ID]: settings },
      ...more,
    });

  it("are asked once and then skipped for an hour, except by an emergency", async () => {
    scene.air.channels.manners.set("SEP001", silent);
    const skip = { skipUnresponsiveRecipients: true };
    for (const _ of [1, 2]) {
      const id = await page(skip);
      await pass(30_000);
      expect(tries(id)).toMatchObject({ level: "failed", attempt: 1 });
    }
    const left = await page(skip);
    await pass(100);
    expect(tries(left)).toMatchObject({ level: "skipped", attempt: 0, ended: true });
    expect(scene.air.ledger(left).SEP002).not.toBe("skipped");
    const usual = await page({});
    await pass(60_000);
    expect(tries(usual)).toMatchObject({ level: "failed", attempt: 3 });
    const urgent = await page(skip, { priority: "critical" });
    await pass(120_000);
    expect(tries(urgent)?.attempt).toBeGreaterThan(1);
    // Until its end it would be sent to the device again.
    await scene.air.notificationService.abort(urgent, scene.fixture.by);
    await pass(3_600_000);
    scene.air.channels.manners.delete("SEP001");
    const again = await page(skip);
    await pass(1_000);
    expect(tries(again)?.level).toBe("accepted");
  });
});
