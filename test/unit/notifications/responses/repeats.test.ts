import { afterEach, beforeEach, describe, expect, it } from "vitest";
import confirmationRequests from "../../../../src/resources/confirmations/confirmation-requests.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import deliveries from "../../../../src/resources/notifications/deliveries.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import { type AirFixture, openAir } from "../engine/engine-fixture.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let fixture: BroadcastFixture;
let air: AirFixture;
let people: string[];
const MAILS = ["ann@example.org", "ben@example.org", "cid@example.org"];
const PHONE = "SEP001122334401";

beforeEach(async () => {
  fixture = await openBroadcasts();
  await fixture.store.create(extensions, { name: "Mail", type: "device", deviceType: "email" }, fixture.by, {
    plugin: "email",
  });
  people = [];
  for (const deviceIdentifier of MAILS) {
    const userId = await fixture.user(deviceIdentifier);
    people.push(userId);
    await fixture.create(userDevices, { userId, type: "email", deviceIdentifier });
  }
  await fixture.phone(PHONE);
  air = await openAir(fixture);
});
afterEach(async () => {
  await air.notificationService.stop();
  await fixture.close();
});

const send = async (asks: object = {}, more: Record<string, unknown> = {}): Promise<string> => {
  const request = { name: "Safe?", options: ["Yes", "No"], repeatInterval: 60, repeatLimit: 3, ...asks };
  const { id: confirmationRequestId } = await fixture.create(confirmationRequests, request);
  const deviceGroupIds = [await fixture.group("Phone", [PHONE])];
  const sent = await air.send({ subject: "Safe?", userIds: people, deviceGroupIds, confirmationRequestId, ...more });
  await pass(1_000);
  return sent;
};
const answer = (id: string, at: number) =>
  air.notificationService.recordAnswer(id, people[at] ?? "", "Yes", fixture.by);
const asked = (from: number) => air.channels.asked().slice(from).sort();
const told = (notificationId: string) =>
  fixture.store
    .find(notificationActivities, { notificationId, type: "info" })
    .map(({ details }) => (details as { message: string }).message);
/** What is proven of each device, and since when. */
const proven = (notificationId: string) =>
  fixture.store
    .find(deliveries, { notificationId })
    .map(({ deviceIdentifier, level, sentAt, acceptedAt }) => ({ deviceIdentifier, level, sentAt, acceptedAt }));
/** What is due and the stages it opens take turns of the event loop. */
const pass = async (ms: number): Promise<void> => {
  await fixture.clock.advance(ms);
  for (let round = 0; round < 100; round++) await fixture.clock.advance(1);
};

describe("a repeat", () => {
  it("goes to the devices of those who have not answered, until all have", async () => {
    const id = await send();
    expect(asked(0)).toEqual([PHONE, ...MAILS].sort());
    await answer(id, 1);
    let before = air.channels.asked().length;
    await pass(60_000);
    expect(asked(before)).toEqual([MAILS[0], MAILS[2]]);
    expect(air.channels.given.at(-1)?.items).toMatchObject([{ repeat: 1 }, { repeat: 1 }]);
    expect(air.ledger(id)).toEqual({
      [PHONE]: "accepted",
      ...Object.fromEntries(MAILS.map((mail) => [mail, "accepted"])),
    });
    const again = air.rows(id).filter(({ attempt }) => attempt === 2);
    expect(again.map(({ identifier }) => identifier).sort()).toEqual([MAILS[0], MAILS[2]]);
    await answer(id, 0);
    before = air.channels.asked().length;
    await pass(60_000);
    expect(asked(before)).toEqual([MAILS[2]]);
    await answer(id, 2);
    before = air.channels.asked().length;
    await pass(3_600_000);
    expect(asked(before)).toEqual([]);
    expect(told(id)).toEqual([
      "Sent again, 1 of 3, to 2 who have not answered.",
      "Sent again, 2 of 3, to 1 who have not answered.",
      "Not sent again: Everyone has answered.",
    ]);
    expect(fixture.store.get(notifications, id)?.stage).toBe("settled");
  });

  it("keeps the proven state, with a reason where the repeat fails, also across a restart", async () => {
    const id = await send({ repeatLimit: 2 });
    const before = proven(id);
    expect(before.map(({ level }) => level)).toEqual(Array(4).fill("accepted"));
    const full = { fails: { reason: "mailbox full", retryable: false } };
    air.channels.manners.set(MAILS[0] ?? "", full);
    air.channels.manners.set(MAILS[1] ?? "", { answersAfterMs: null });
    await pass(60_000);
    expect(air.rows(id).filter(({ attempt }) => attempt === 2)).toHaveLength(3);
    expect(proven(id)).toEqual(before);
    await air.notificationService.stop();
    await fixture.clock.advance(600_000);
    air = await openAir(fixture);
    air.channels.manners.set(MAILS[0] ?? "", full);
    await pass(600_000);
    expect(told(id)).toHaveLength(2);
    expect(proven(id)).toEqual(before);
    const failed = air.rows(id).find(({ identifier }) => identifier === MAILS[0]);
    expect(failed?.reason).toBe("Sent again without success: mailbox full");
  });

  it("reports a returned mail as not delivered", async () => {
    const id = await send({ repeatLimit: 1 });
    const fails = { reason: "no such mailbox", retryable: false, returned: true };
    air.channels.manners.set(MAILS[0] ?? "", { fails });
    await pass(60_000);
    const row = air.rows(id).find(({ identifier }) => identifier === MAILS[0]);
    expect([row?.level, row?.reason]).toEqual(["failed", "no such mailbox"]);
  });

  it("repeats as often as the request says; after a restart sends an overdue repeat at once", async () => {
    const id = await send({ repeatLimit: 2 });
    await air.notificationService.stop();
    await fixture.clock.advance(600_000);
    air = await openAir(fixture);
    await pass(1_000);
    expect(asked(0)).toEqual(MAILS);
    await pass(3_600_000);
    expect(air.channels.asked()).toHaveLength(6);
    expect(told(id)).toHaveLength(2);
  });

  it.each([
    ["somebody ended the message", {}, {}, true, "Somebody ended"],
    ["the message has expired", {}, { expiration: 50 }, false, "expired"],
    ["answers are taken no more", { expirationPeriod: 50 }, {}, false, "taken no more"],
  ])("is not sent once %s", async (_, asks, more, ends, words) => {
    const id = await send(asks, more);
    if (ends) await air.notificationService.abort(id, fixture.by);
    const before = air.channels.asked().length;
    await pass(3_600_000);
    expect(asked(before)).toEqual([]);
    expect(told(id)).toEqual([expect.stringContaining(words)]);
  });
});
