import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { APPLIANCES_PROVIDER } from "../../../../src/notifications/engine/delivery-providers.ts";
import collaborationGroups from "../../../../src/resources/collaboration/collaboration-groups.ts";
import devices from "../../../../src/resources/devices/devices.ts";
import endpoints from "../../../../src/resources/devices/endpoints.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import { ONE, openStories, PHONES, type Stories, TWO } from "./delivery-scene.ts";

let scene: Stories;
let two: string;
let empty: string;

beforeEach(async () => {
  scene = await openStories();
  two = await scene.fixture.group("Two", [ONE, TWO]);
  empty = await scene.fixture.group("Empty", []);
});
afterEach(() => scene.close());

/** Warnings about a message to these recipients, as a preview and as sent. */
const warnings = async (recipients: Record<string, unknown>) => {
  const found = [];
  for (const draft of [true, false]) {
    const row = await scene.fixture.send({ subject: "Page", ...recipients, draft });
    found.push(await scene.air.notificationService.findReachWarnings(row));
  }
  expect(found[0]).toEqual(found[1]);
  return found[0];
};
const warning = (code: string, reason: string) => [{ code, message: `This message would reach no one: ${reason}` }];
const setDevice = (column: string, value: number | string, of: readonly string[] = PHONES) =>
  scene.fixture.store.write((tx) => {
    const sql = `UPDATE devices SET ${column} = ? WHERE device_identifier IN (SELECT value FROM json_each(?))`;
    tx.run(sql, value, JSON.stringify(of));
  });
const person = async (): Promise<string> => scene.fixture.list("Staff", [await scene.fixture.user("Ann")]);
const plugin = (type: string, deviceType: string, name: string) =>
  scene.fixture.store.create(extensions, { name, type, deviceType }, scene.fixture.by, { plugin: name });

describe("a message that would reach no one is reported", () => {
  it("where its groups and lists are empty", async () => {
    const distributionListIds = [await scene.fixture.list("No one", [])];
    const empties = { deviceGroupIds: [empty], distributionListIds };
    expect(await warnings(empties)).toEqual(warning("no-recipients", "its groups and lists are empty."));
  });

  it("where its devices cannot be contacted, with the most frequent reason", async () => {
    await setDevice("defunct", 1, [ONE]);
    scene.air.channels.states.set("ip-phones", "disabled");
    expect(await warnings({ deviceGroupIds: [scene.phonesOnly] })).toEqual(
      warning("not-deliverable", "no device can be contacted. The plugin ip-phones is disabled."),
    );
  });

  it("where all of its devices that can be contacted probably do not answer", async () => {
    await setDevice("failures", 1);
    const why = "the 2 devices that can be contacted did not answer the last message or are not registered.";
    expect(await warnings({ deviceGroupIds: [two] })).toEqual(warning("no-answer-expected", why));
    await setDevice("defunct", 1, [ONE]);
    const one = "the only device that can be contacted did not answer the last message or is not registered.";
    expect(await warnings({ deviceGroupIds: [two] })).toEqual(warning("no-answer-expected", one));
  });

  it("where its people have no device, or one that no plugin serves", async () => {
    const distributionListIds = [await person()];
    const expected = warning("not-deliverable", "its recipients have no device or group that can be contacted.");
    expect(await warnings({ distributionListIds })).toEqual(expected);
    const userId = await scene.fixture.user("Ben");
    await scene.fixture.create(userDevices, { userId, type: "email", deviceIdentifier: "ben@example.org" });
    expect(await warnings({ userIds: [userId] })).toEqual(expected);
    await plugin("device", "email", "email");
    expect(await warnings({ userIds: [userId] })).toEqual([]);
    scene.air.channels.states.set("email", "disabled");
    expect(await warnings({ userIds: [userId] })).toEqual(expected);
  });
});

describe("a message is not reported", () => {
  it("where one device is presumed to answer", async () => {
    await setDevice("failures", 3, [ONE]);
    expect(await warnings({ deviceGroupIds: [two] })).toEqual([]);
  });

  it("where it goes to a group of another system", async () => {
    await plugin("collaboration", "chat-rooms", "chat");
    const { id } = await scene.fixture.create(collaborationGroups, { name: "Office", type: "chat-rooms" });
    const recipients = { deviceGroupIds: [empty], collaborationGroupIds: [id] };
    expect(await warnings(recipients)).toEqual([]);
    scene.air.channels.states.set("chat", "absent");
    expect(await warnings(recipients)).toMatchObject([{ code: "not-deliverable" }]);
  });

  it("where another appliance carries it out for the cloud, whose preview counts the devices, too", async () => {
    const { store, by } = scene.fixture;
    const [device] = store.find(devices, { deviceIdentifier: ONE }, 1);
    const other = await store.create(endpoints, { extensionId: device?.extensionId ?? "", name: "Annex" }, by);
    await setDevice("endpoint_pk", other.pk);
    scene.air.channels.states.set(APPLIANCES_PROVIDER, "absent");
    expect(await warnings({ deviceGroupIds: [two] })).toMatchObject([{ code: "not-deliverable" }]);
    scene.air.channels.states.set(APPLIANCES_PROVIDER, "running");
    expect(await warnings({ deviceGroupIds: [two] })).toEqual([]);
    const message = { subject: "Page", deviceGroupIds: [two], draft: true };
    const draft = await scene.air.notificationService.send(message, by, { source: "api" });
    const sql = "SELECT found FROM notification_previews WHERE notification = ?";
    const preview = JSON.parse(store.one<{ found: string }>(sql, draft.pk)?.found ?? "{}") as object;
    expect(preview).toMatchObject({ devices: { phones: 2 }, notReached: [] });
  });
});

it("does not fail a send whose check fails", async () => {
  const row = await scene.fixture.send({ subject: "Page", deviceGroupIds: [two], draft: true });
  await scene.air.notificationService.stop();
  const broken = { ...row, effectiveSettings: "{" };
  expect(await scene.air.notificationService.findReachWarnings(broken)).toEqual([]);
  expect(scene.fixture.store.get(notifications, row.id)).not.toBeNull();
});
