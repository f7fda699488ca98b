import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findCatchingUp } from "../../../../src/notifications/engine/catch-up.ts";
import { APPLIANCES_PROVIDER } from "../../../../src/notifications/engine/delivery-providers.ts";
import devices from "../../../../src/resources/devices/devices.ts";
import endpoints from "../../../../src/resources/devices/endpoints.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import messageTemplates from "../../../../src/resources/messages/message-templates.ts";
import deliveries from "../../../../src/resources/notifications/deliveries.ts";
import { MISSED_AUDIO_REASONS } from "../../../../src/resources/notifications/missed-audio.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import { ONE, openStories, PHONES, type Stories, THREE, TWO, ZONES } from "./delivery-scene.ts";
import type { DeviceManners } from "./engine-fixture.ts";

let scene: Stories;
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
/** Answers after the audio of `emergency` and within the time for last reports. */
const LATE: DeviceManners = { answersAfterMs: 6 * SECOND, playsAfterMs: 100 };
const PROMPT: DeviceManners = { answersAfterMs: 20, playsAfterMs: 100 };
const OFF: DeviceManners = { fails: { reason: "no route to the device", retryable: false } };

beforeEach(async () => {
  scene = await openStories();
});
afterEach(() => scene.close());

/** Sends an emergency of 2 s and waits for its end. */
const emergency = async (more: Record<string, unknown> = {}): Promise<string> => {
  const id = await scene.play({ priority: "critical", ...more }, 2_000);
  await scene.air.untilSettled(id);
  return id;
};
const asked = (from = 0): string[] => scene.air.channels.asked().slice(from);
/** Moves time on in steps, since a due timer and the stages that it opens take turns of the event loop. */
const pass = async (ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += SECOND) {
    await scene.fixture.clock.advance(Math.min(SECOND, ms - passed));
    for (let turn = 0; turn < 30; turn++) await scene.fixture.clock.advance(0);
  }
};
const notes = (notificationId: string): string[] =>
  scene.fixture.store
    .find(notificationActivities, { notificationId, type: "info" })
    .map(({ details }) => (details as { message: string }).message)
    .filter((message) => /sent again/i.test(message));
/** Devices that show the text and played no audio, or too little. */
const textOnly = (notificationId: string): (string | null)[] =>
  scene.fixture.store
    .find(deliveries, { notificationId, textOnly: true })
    .map(({ deviceIdentifier }) => deviceIdentifier);
const isScheduled = (id: string): boolean =>
  scene.fixture.store.one(
    "SELECT 1 FROM notification_timers t JOIN notifications n ON n.pk = t.notification WHERE n.id = ? AND kind = 'catch-up'",
    id,
  ) !== null;

describe("an emergency", () => {
  it("goes with its audio to phones that only showed the text, at once, and not to the others", async () => {
    scene.manners(ONE, LATE);
    scene.manners(TWO, LATE);
    const id = await emergency();
    expect(scene.row(id, ONE)).toMatchObject({ level: "accepted", reason: MISSED_AUDIO_REASONS.joined, late: true });
    expect(findCatchingUp(scene.fixture.store, scene.fixture.store.find(notifications, {})).size).toBe(1);
    expect(textOnly(id)).toEqual([ONE, TWO]);
    const [before, group] = [asked().length, scene.fixture.store.get(notifications, id)?.audioGroup];
    scene.manners(ONE, PROMPT);
    scene.manners(TWO, PROMPT);
    await pass(10 * SECOND);
    expect(asked(before).sort()).toEqual([ONE, TWO]);
    const again = scene.air.channels.given.at(-1)?.items[0];
    expect(again?.audio).toMatchObject({ codec: "PCMU" });
    expect(again?.audio?.group).not.toBe(group);
    for (const phone of [ONE, TWO])
      expect(scene.row(id, phone)).toMatchObject({
        level: "playing",
        reason: null,
        attempt: 2,
        late: false,
        ended: true,
      });
    expect(textOnly(id)).toEqual([]);
    await pass(MINUTE);
    expect(asked(before)).toHaveLength(2);
    expect(isScheduled(id)).toBe(false);
    expect(findCatchingUp(scene.fixture.store, scene.fixture.store.find(notifications, {})).size).toBe(0);
    expect(notes(id)).toContain("Sent again automatically to 2 devices: not heard there so far.");
  });

  it("keeps that the audio was missed while a phone still does not hear it", async () => {
    scene.manners(ONE, LATE);
    const id = await emergency();
    scene.manners(ONE, OFF);
    const before = asked().length;
    await pass(5 * SECOND);
    expect(asked(before)).toEqual([ONE]);
    expect(scene.row(id, ONE)).toMatchObject({ level: "accepted", reason: MISSED_AUDIO_REASONS.joined, ended: true });
    expect(textOnly(id)).toEqual([ONE]);
    scene.manners(ONE, PROMPT);
    await pass(20 * SECOND);
    expect(scene.row(id, ONE)).toMatchObject({ level: "playing", reason: null, attempt: 3 });
  });

  it("goes again to a phone that joined for less than half of a pass", async () => {
    // After the decision about another pass, and before the end of the audio.
    scene.manners(ONE, { answersAfterMs: 3_200, playsAfterMs: 50 });
    const id = await emergency();
    expect(scene.row(id, ONE)).toMatchObject({ reason: MISSED_AUDIO_REASONS.partly, late: true });
    expect(textOnly(id)).toEqual([ONE]);
    scene.manners(ONE, PROMPT);
    await pass(10 * SECOND);
    expect(scene.row(id, ONE)).toMatchObject({ level: "playing", reason: null });
    expect(textOnly(id)).toEqual([]);
  });

  it("does not let a late phone wait for the retries of a dead one", async () => {
    // The audio is repeated once for the sake of devices that do not answer.
    scene.manners(ONE, { answersAfterMs: 10 * SECOND, playsAfterMs: 100 });
    scene.manners(TWO, { fails: { reason: "no answer", retryable: true } });
    const id = await emergency();
    const row = scene.fixture.store.get(notifications, id);
    // Two passes of 2 s, the start, and 10 s for last reports.
    expect((row?.settledAt ?? 0) - (row?.createdAt ?? 0)).toBeLessThan(20 * SECOND);
    expect(textOnly(id)).toEqual([ONE]);
    expect(scene.row(id, TWO)).toMatchObject({ level: "failed", reason: "no answer" });
    scene.manners(ONE, PROMPT);
    const before = asked().length;
    await pass(2 * SECOND);
    expect(asked(before)).toContain(ONE);
  });

  it("tries devices that do not answer with backoff, and hears of one that is back within 30 s", async () => {
    scene.manners(ONE, OFF);
    const id = await emergency();
    const [before, settledAt] = [asked().length, scene.fixture.store.get(notifications, id)?.settledAt ?? 0];
    await pass(HOUR);
    const times = scene.air.channels.given.filter(({ at }) => at > settledAt).map(({ at }) => at);
    const gaps = times.map((at, index) => Math.round((at - (times[index - 1] ?? settledAt)) / SECOND));
    // Each attempt ends 12 s after it began, with the time for last reports of the audio.
    expect(gaps.slice(0, 5)).toEqual([30, 60, 120, 300, 600].map((gap) => expect.closeTo(gap, -1.5)));
    expect(new Set(asked(before))).toEqual(new Set([ONE]));
    expect(times).toHaveLength(6);
    scene.manners(ONE, PROMPT);
    // Another way to it was verified.
    await scene.fixture.store.write((tx) => {
      const sql = "UPDATE devices SET proven_at = ? WHERE device_identifier = ?";
      tx.run(sql, scene.fixture.clock.now(), ONE);
    });
    await pass(40 * SECOND);
    expect(scene.row(id, ONE)).toMatchObject({ level: "playing" });
    expect(isScheduled(id)).toBe(false);
  });

  it("goes to a phone that registers again", async () => {
    scene.manners(ONE, OFF);
    const id = await emergency();
    await pass(20 * MINUTE);
    const before = asked().length;
    await pass(MINUTE);
    expect(asked(before)).toEqual([]);
    scene.manners(ONE, PROMPT);
    const device = scene.device(ONE);
    const attributes = { ...(device?.attributes as object), IsRegistered: "true" };
    await scene.fixture.store.update(devices, device?.id ?? "", { attributes }, scene.fixture.by);
    await pass(40 * SECOND);
    expect(asked(before)).toEqual([ONE]);
    expect(scene.row(id, ONE)).toMatchObject({ level: "playing" });
  });

  it("goes to the devices of a plugin that runs again", async () => {
    scene.air.channels.states.set("multicast-zones", "disabled");
    const id = await emergency();
    const before = asked().length;
    await pass(10 * MINUTE);
    expect(asked(before)).toEqual([]);
    scene.air.channels.states.set("multicast-zones", "running");
    await pass(MINUTE);
    expect(asked(before).sort()).toEqual([...ZONES].sort());
    expect(scene.row(id, ZONES[0] ?? "")).toMatchObject({ level: "sent" });
  });

  it("continues after a restart", async () => {
    scene.manners(ONE, LATE);
    const id = await emergency();
    scene.air.crash();
    scene.manners(ONE, PROMPT);
    const before = asked().length;
    await scene.air.restart();
    await pass(10 * SECOND);
    expect(asked(before)).toEqual([ONE]);
    expect(scene.row(id, ONE)).toMatchObject({ level: "playing", reason: null });
  });

  it("is not sent again to people: they have their own ways to ask for it", async () => {
    const mail = { name: "Mail", type: "device", deviceType: "email" } as const;
    await scene.fixture.store.create(extensions, mail, scene.fixture.by, { plugin: "email" });
    const userId = await scene.fixture.user("Ann");
    await scene.fixture.create(userDevices, { userId, type: "email", deviceIdentifier: "ann@example.org" });
    scene.manners("ann@example.org", OFF);
    scene.manners(ONE, LATE);
    const id = await emergency({ userIds: [userId] });
    scene.manners(ONE, PROMPT);
    const before = asked().length;
    await pass(5 * MINUTE);
    expect(asked(before)).toEqual([ONE]);
    expect(isScheduled(id)).toBe(false);
  });

  it("is left to the appliance that carries it out, once that has started it", async () => {
    const { store, by } = scene.fixture;
    const { extensionId = "" } = scene.device(ONE) ?? {};
    const other = await store.create(endpoints, { extensionId, name: "Annex" }, by);
    const sql = "UPDATE devices SET endpoint_pk = ? WHERE device_identifier = ?";
    for (const phone of [ONE, TWO]) await store.write((tx) => void tx.run(sql, other.pk, phone));
    scene.air.channels.states.set(APPLIANCES_PROVIDER, "running");
    scene.manners(ONE, OFF);
    const id = await emergency();
    await store.write((tx) => {
      const started =
        "UPDATE deliveries SET level = 'failed', sent_at = 1 WHERE device_identifier = ? AND provider = ?";
      tx.run(started, TWO, APPLIANCES_PROVIDER);
    });
    const before = asked().length;
    await pass(2 * MINUTE);
    expect(new Set(asked(before))).toEqual(new Set([ONE]));
    expect(scene.row(id, TWO)).toMatchObject({ level: "failed", attempt: 1 });
  });
});

describe("an emergency is no longer sent again", () => {
  /** One that has one phone left. */
  const pending = async (more: Record<string, unknown> = {}): Promise<string> => {
    scene.manners(ONE, OFF);
    const id = await emergency(more);
    await pass(MINUTE);
    expect(isScheduled(id)).toBe(true);
    return id;
  };
  const expectOver = async (id: string, why: string): Promise<void> => {
    scene.manners(ONE, PROMPT);
    const attempts = scene.row(id, ONE)?.attempt;
    await pass(2 * MINUTE);
    expect(isScheduled(id)).toBe(false);
    expect(scene.row(id, ONE)?.attempt).toBe(attempts);
    expect(notes(id).at(-1)).toBe(`No longer sent again to 1 device: ${why}`);
  };

  it("after its all-clear", async () => {
    const id = await pending();
    scene.manners(ONE, PROMPT);
    await scene.air.notificationService.sendAllClear(id, {}, scene.fixture.by, { source: "api" });
    await expectOver(id, "The emergency is over.");
  });

  it("after it was ended", async () => {
    const id = await pending();
    await scene.air.notificationService.abort(id, scene.fixture.by);
    await expectOver(id, "The message was ended by a user.");
  });

  it("after it has expired", async () => {
    const id = await pending({ expiration: 300 });
    await pass(5 * MINUTE);
    await expectOver(id, "The message has expired.");
  });

  it("after a template has cancelled it", async () => {
    const id = await pending();
    const { id: messageTemplateId } = await scene.fixture.create(messageTemplates, {
      name: "Evacuate",
      subject: "Evacuate",
      priority: "critical",
      cancelNotificationsType: "all",
      deviceGroupIds: [scene.zonesOnly],
    });
    await scene.air.send({ messageTemplateId });
    await expectOver(id, "The message was ended by a user.");
  });

  it("after an hour, if it is a drill without an end", async () => {
    const id = await pending({ drill: true });
    await pass(HOUR);
    await expectOver(id, "Its time is over.");
  });

  it("when it is an all-clear and another emergency follows", async () => {
    const first = await emergency();
    scene.manners(ONE, OFF);
    const service = scene.air.notificationService;
    const clear = await service.sendAllClear(first, {}, scene.fixture.by, { source: "api" });
    await scene.air.untilSettled(clear.id);
    await pass(MINUTE);
    expect(isScheduled(clear.id)).toBe(true);
    await emergency({ deviceGroupIds: [scene.zonesOnly] });
    await expectOver(clear.id, "Another emergency was sent since.");
  });
});

describe("what is not sent again automatically", () => {
  it.each([
    ["a routine message", {}, LATE],
    ["an emergency that all have heard", { priority: "critical" }, PROMPT],
    ["an emergency without audio that a zone cannot present", { priority: "critical", alertTone: null }, PROMPT],
  ])("%s", async (_, more, how) => {
    scene.manners(ONE, how);
    const id = await scene.play(more, 2_000);
    await scene.air.untilSettled(id);
    const before = asked().length;
    await pass(5 * MINUTE);
    expect(asked(before)).toEqual([]);
    expect(isScheduled(id)).toBe(false);
  });
});

it("sends to phones that missed the audio on request, too", async () => {
  scene.manners(THREE, LATE);
  const id = await scene.play({ deviceGroupIds: [scene.phonesOnly] }, 2_000);
  await scene.air.untilSettled(id);
  expect(scene.row(id, THREE)).toMatchObject({ reason: MISSED_AUDIO_REASONS.joined });
  scene.manners(THREE, PROMPT);
  await scene.air.notificationService.retry(id, scene.fixture.by);
  await scene.air.untilSettled(id);
  expect(scene.row(id, THREE)).toMatchObject({ level: "playing", reason: null, late: false, attempt: 2 });
  expect(PHONES.map((phone) => scene.row(id, phone)?.attempt)).toEqual([1, 1, 2, 1]);
  await expect(scene.air.notificationService.retry(id, scene.fixture.by)).rejects.toMatchObject({ type: "conflict" });
});
