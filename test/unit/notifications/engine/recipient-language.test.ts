import { afterEach, beforeEach, describe, expect, it } from "vitest";
import extensions from "../../../../src/resources/devices/extensions.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import users from "../../../../src/resources/people/users.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";
import { type AirFixture, openAir } from "./engine-fixture.ts";

let at: BroadcastFixture;
let air: AirFixture;

beforeEach(async () => {
  at = await openBroadcasts();
  await at.store.create(extensions, { name: "Mail", type: "device", deviceType: "email" }, at.by, { plugin: "email" });
  air = await openAir(at);
});
afterEach(async () => {
  await air.notificationService.stop();
  await at.close();
});

describe("a person's device", () => {
  it("gets the texts of the server in the language of the account, and those of people as they are", async () => {
    const languages = { Ann: "de-DE", Ben: "en-GB", Cid: null } as const;
    const userIds: string[] = [];
    for (const [name, preferredLanguage] of Object.entries(languages)) {
      const userId = await at.user(name);
      await at.store.update(users, userId, { preferredLanguage }, at.by);
      await at.create(userDevices, { userId, type: "email", deviceIdentifier: `${name}@example.org` });
      userIds.push(userId);
    }
    const id = await air.send({ subject: "Feuer", body: "The message has expired.", userIds, drill: true });
    await air.untilSettled(id);
    const items = air.channels.given.flatMap((given) => given.items);
    const seen = items.map(({ device, text, recipient }) => [
      ...[device.deviceIdentifier, text.subject, text.body, recipient?.language],
    ]);
    expect(seen.toSorted()).toEqual([
      ["Ann@example.org", "ÜBUNG: Feuer", "The message has expired.", "de-DE"],
      ["Ben@example.org", "DRILL: Feuer", "The message has expired.", "en-GB"],
      ["Cid@example.org", "DRILL: Feuer", "The message has expired.", undefined],
    ]);
  });
});
