import { afterEach, beforeEach, describe, expect, it } from "vitest";
import extensions from "../../../../src/resources/devices/extensions.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import users from "../../../../src/resources/people/users.ts";
import notificationProfiles from "../../../../src/resources/profiles/notification-profiles.ts";
import type { RowOf } from "../../../../src/schema/resource.ts";
import { openStories, PHONES, type Stories } from "./delivery-scene.ts";

const REFUSED = "gateway request failed: connect ECONNREFUSED 192.0.2.7:443";

let stories: Stories;
/** Id of the extension of the plugin `sms`, whose failure code is `sms-failed`. */
let sms: string;
let person: string;

beforeEach(async () => {
  stories = await openStories();
  const { store, by } = stories.fixture;
  sms = await addExtension("sms", "sms-phone", "sms-failed");
  person = (await store.create(users, { name: "Ada", email: "ada@example.com" }, by)).id;
  for (const number of ["+15550100", "+15550101"])
    await store.create(userDevices, { userId: person, type: "sms-phone", deviceIdentifier: number }, by);
});
afterEach(() => stories.close());

async function addExtension(
  plugin: string,
  deviceType: string,
  failureCode: RowOf<typeof notificationActivities>["type"],
) {
  const { store, by } = stories.fixture;
  const row = { name: plugin, type: "device", deviceType, failureCode } as const;
  const { id } = await store.create(extensions, row, by, { plugin });
  stories.air.channels.extensionIds.set(plugin, id);
  return id;
}

const failures = (notificationId: string) =>
  stories.fixture.store
    .find(notificationActivities, { notificationId })
    .filter(({ type }) => type.endsWith("-failed"))
    .map(({ type, details }) => ({ type, details }));

async function sendText(): Promise<string> {
  const id = await stories.air.send({ subject: "Snow day", userIds: [person] });
  await stories.air.untilSettled(id);
  return id;
}

const failing = (details: {
  channelDown?: boolean;
  retryable: boolean;
  passing?: boolean;
  reason?: string;
  times?: number;
}) => {
  for (const number of ["+15550100", "+15550101"]) stories.manners(number, { fails: { reason: REFUSED, ...details } });
};

describe("the failure code of an extension", () => {
  it("is recorded once per message when its server refuses connections, also when a retry succeeds", async () => {
    failing({ channelDown: true, retryable: true, times: 1 });
    const id = await sendText();
    expect(stories.air.ledger(id)).toEqual({ "+15550100": "accepted", "+15550101": "accepted" });
    expect(failures(id)).toEqual([{ type: "sms-failed", details: { extensionId: sms, reason: REFUSED } }]);
    expect(failures(await sendText())).toEqual([]);
  });

  it("is not recorded when single devices fail", async () => {
    failing({ retryable: false, reason: "unknown number" });
    expect(failures(await sendText())).toEqual([]);
  });

  it("is recorded when the plugin is switched off before the send", async () => {
    stories.air.channels.states.set("sms", "disabled");
    expect(failures(await sendText())).toEqual([
      { type: "sms-failed", details: { extensionId: sms, reason: "The plugin sms is disabled." } },
    ]);
  });

  it("is recorded when the plugin is switched off while deliveries wait for its restart", async () => {
    const { air } = stories;
    air.channels.states.set("sms", "restarting");
    const id = await air.send({ subject: "Snow day", userIds: [person] });
    await stories.fixture.clock.advance(1_000);
    air.channels.states.set("sms", "disabled");
    stories.fixture.needs.events.emit("plugin.changed", { plugin: "sms", state: "disabled", reason: null });
    await air.untilSettled(id);
    expect(failures(id)).toEqual([
      { type: "sms-failed", details: { extensionId: sms, reason: "The channel sms is disabled." } },
    ]);
  });

  it("is recorded for each extension, and not for those that the message does not use", async () => {
    const phones = await addExtension("ip-phones", "desk-phone", "call-failed");
    for (const provider of ["sms", "ip-phones", "multicast-zones"])
      stories.air.channels.states.set(provider, "disabled");
    const id = await stories.play({ userIds: [person], deviceGroupIds: [stories.phonesOnly] });
    await stories.air.untilSettled(id);
    expect(stories.air.rows(id)).toHaveLength(PHONES.length + 2);
    expect(failures(id)).toEqual(
      expect.arrayContaining([
        { type: "sms-failed", details: { extensionId: sms, reason: "The plugin sms is disabled." } },
        { type: "call-failed", details: { extensionId: phones, reason: "The plugin ip-phones is disabled." } },
      ]),
    );
    expect(failures(id)).toHaveLength(2);
  });

  it("is not recorded for a channel that the notification profile excludes", async () => {
    const settings = [{ id: sms, disabled: true, value: {} }];
    const profile = await stories.fixture.create(notificationProfiles, { name: "No text messages", settings });
    const message = { subject: "Snow day", userIds: [person], notificationProfileId: profile.id };
    const id = await stories.air.send(message);
    await stories.air.untilSettled(id);
    expect(failures(id)).toEqual([]);
  });
});

describe("a server that is away", () => {
  it("gets the message once it is back, as long as the message lives, and the reason is told meanwhile", async () => {
    failing({ channelDown: true, retryable: true, passing: true, times: 6 });
    const id = await stories.air.send({ subject: "Snow day", userIds: [person] });
    await stories.fixture.clock.advance(50_000);
    expect(stories.air.rows(id)).toMatchObject([1, 2].map(() => ({ level: "planned", reason: REFUSED })));
    expect(failures(id)).toEqual([{ type: "sms-failed", details: { extensionId: sms, reason: REFUSED } }]);
    await stories.air.untilSettled(id, 120_000);
    expect(stories.air.ledger(id)).toEqual({ "+15550100": "accepted", "+15550101": "accepted" });
  });

  it("is given up when the message is of no more use", async () => {
    failing({ channelDown: true, retryable: true, passing: true });
    const id = await stories.air.send({ subject: "Snow day", userIds: [person] });
    await stories.air.untilSettled(id, 125_000);
    expect(stories.air.rows(id)).toMatchObject([1, 2].map(() => ({ level: "failed", reason: REFUSED, attempt: 7 })));
  });

  it("is asked for a quarter of an hour about an emergency", async () => {
    failing({ channelDown: true, retryable: true, passing: true });
    const id = await stories.air.send({ subject: "Lockdown", userIds: [person], priority: "critical" });
    await stories.fixture.clock.advance(14 * 60_000);
    expect(stories.air.rows(id)).toMatchObject([1, 2].map(() => ({ level: "planned", reason: REFUSED })));
    await stories.air.untilSettled(id, 90_000);
    expect(stories.air.rows(id)).toMatchObject([1, 2].map(() => ({ level: "failed", reason: REFUSED })));
  });
});
