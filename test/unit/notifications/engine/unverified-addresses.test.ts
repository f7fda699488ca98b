import { afterEach, beforeEach, expect, it } from "vitest";
import { findUserBySmsNumber } from "../../../../src/people/enrollment.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import deliveries from "../../../../src/resources/notifications/deliveries.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import users from "../../../../src/resources/people/users.ts";
import { openStories, type Stories } from "./delivery-scene.ts";

let stories: Stories;
let person: string;

beforeEach(async () => {
  stories = await openStories();
  const { store, by } = stories.fixture;
  const row = { name: "sms", type: "device", deviceType: "SMS", failureCode: "sms-failed" } as const;
  const { id } = await store.create(extensions, row, by, { plugin: "sms" });
  stories.air.channels.extensionIds.set("sms", id);
  person = (await store.create(users, { name: "Ada", email: "ada@example.com" }, by)).id;
});
afterEach(() => stories.close());

function number(deviceIdentifier: string, awaitsVerification: boolean) {
  const { store, by } = stories.fixture;
  return store.create(userDevices, { userId: person, type: "SMS", deviceIdentifier }, by, { awaitsVerification });
}

it("sends nothing to an address that its owner has not verified, and says why", async () => {
  const { store, by } = stories.fixture;
  await number("+15550100", false);
  const waiting = await number("+15550101", true);
  const id = await stories.air.send({ subject: "Snow day", userIds: [person] });
  await stories.air.untilSettled(id);
  expect(stories.air.ledger(id)).toEqual({ "+15550100": "accepted", "+15550101": "skipped" });
  const [row] = store.find(deliveries, { notificationId: id }).filter(({ level }) => level === "skipped");
  expect(row?.reason).toBe("The owner has not verified the address.");
  await store.update(userDevices, waiting.id, { verified: true }, by, { awaitsVerification: false });
  const next = await stories.air.send({ subject: "Snow day", userIds: [person] });
  await stories.air.untilSettled(next);
  expect(stories.air.ledger(next)).toEqual({ "+15550100": "accepted", "+15550101": "accepted" });
});

it("does not take text messages from such a number for those of the account", async () => {
  const { store } = stories.fixture;
  await number("+49 170 1234567", true);
  expect(findUserBySmsNumber(store, "+491701234567")).toBeNull();
  expect(findUserBySmsNumber(store, "01701234567", "DE")).toBeNull();
});
