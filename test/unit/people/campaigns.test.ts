import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { type Campaigns, createCampaigns } from "../../../src/people/campaigns.ts";
import type { PhoneNumberPolicy } from "../../../src/people/phone-number-policy.ts";
import distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import notificationRecipients from "../../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import subscriptions from "../../../src/resources/people/subscriptions.ts";
import userDevices from "../../../src/resources/people/user-devices.ts";
import users from "../../../src/resources/people/users.ts";
import { NO_CONTACT_PROOFS } from "../../support/no-contact-proofs.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

const DAY_MS = 86_400_000;

let at: BroadcastFixture;
let campaigns: Campaigns;
let serial = 0;
beforeAll(async () => {
  at = await openBroadcasts();
});
afterAll(() => at.close());
beforeEach(() => {
  const notificationService = { send: (input: Record<string, unknown>) => at.send(input) };
  const needs = {
    store: at.store,
    clock: at.clock,
    log: silentLog,
    notificationService: notificationService as never,
    by: at.by,
  };
  campaigns = createCampaigns({
    ...needs,
    contactProofs: NO_CONTACT_PROOFS,
    policy: { country: null, allowedPrefixes: null },
    baseUrl: () => "https://bells.example.org",
  });
});

async function listWith(campaign: object, more: object = {}) {
  serial += 1;
  const name = `Campaign ${serial}`;
  const row = await at.create(distributionLists, { name, isSubscribable: true, campaign, ...more });
  return { id: row.id, name };
}
const person = (more: object) => ({ name: null, email: null, phone: null, ...more });
const placesOn = (distributionListId: string) => at.store.find(subscriptions, { distributionListId });
const lastMessage = () => at.store.find(notifications, {}).at(-1);

describe("joining a list", () => {
  it("creates a self-registered account with its devices, for the campaign's days, and welcomes it", async () => {
    const list = await listWith({ welcomeMessage: "Welcome!", defaultNotificationDays: 30 });
    const joined = await campaigns.joinList(
      list.id,
      person({ name: "Ann", email: "ann@example.org", phone: "+491701" }),
      "a",
    );
    expect(joined).toEqual({ outcome: "joined", listName: list.name, reply: null });
    const [place] = placesOn(list.id);
    expect(place?.subscriptionEndDate).toBe(at.clock.now() + 30 * DAY_MS);
    const user = at.store.get(users, place?.userId ?? "");
    expect(user).toMatchObject({ name: "Ann", email: "ann@example.org", type: "regular", selfRegistered: true });
    expect(user).toMatchObject({ source: "self-registered", passwordHash: null });
    const ways = at.store.find(userDevices, { userId: user?.id ?? "" });
    expect(ways.map(({ type, deviceIdentifier }) => `${type} ${deviceIdentifier}`)).toEqual([
      "email ann@example.org",
      "SMS +491701",
    ]);
    const message = lastMessage();
    expect(message).toMatchObject({ subject: list.name, userIds: [user?.id] });
    expect(message?.body).toMatch(/^Welcome!\n\nhttps:\/\/bells\.example\.org\/leave\/[0-9a-f]+$/);
    await at.run(message?.id ?? "");
    expect(at.store.find(notificationRecipients, { notificationId: message?.id ?? "" })).toMatchObject([
      { name: "Ann" },
    ]);
  });

  it("reuses an existing account and welcomes once; joining again extends the subscription", async () => {
    const list = await listWith({ welcomeMessage: "Hi", defaultNotificationDays: 10 });
    const userId = await at.user("Bob", { email: "Bob@example.org" });
    const join = () => campaigns.joinList(list.id, person({ name: "Robert", email: "bob@EXAMPLE.org" }), null);
    await join();
    const messages = at.store.count(notifications, {});
    await at.clock.advance(4 * DAY_MS);
    await join();
    const [place, ...others] = placesOn(list.id);
    expect(others).toEqual([]);
    expect(place).toMatchObject({ userId, subscriptionEndDate: at.clock.now() + 10 * DAY_MS });
    expect(at.store.get(users, userId)).toMatchObject({ name: "Bob", selfRegistered: false });
    expect(at.store.find(userDevices, { userId })).toEqual([]);
    expect(at.store.count(notifications, {})).toBe(messages);
    await at.clock.advance(11 * DAY_MS);
    await join();
    expect(at.store.count(notifications, {})).toBe(messages + 1);
  });

  it("keeps a subscription without an end", async () => {
    const list = await listWith({ defaultNotificationDays: 10 });
    const userId = await at.user("Eva", { email: "eva@example.org" });
    await at.create(subscriptions, { userId, distributionListId: list.id });
    await campaigns.joinList(list.id, person({ email: "eva@example.org" }), null);
    expect(placesOn(list.id)).toMatchObject([{ subscriptionEndDate: null }]);
  });

  it("is rejected with the campaign's text after the end of enrolment", async () => {
    const enrollmentEndDate = new Date(at.clock.now() + 1_000).toISOString();
    const list = await listWith({ enrollmentEndDate, inactiveMessage: "Too late.", subscribeTag: "LATE" });
    expect(campaigns.find(list.id)).toMatchObject({ isOpen: true });
    await at.clock.advance(1_000);
    const before = at.store.count(users, {});
    const late = { outcome: "inactive", listName: list.name, reply: "Too late." };
    expect(await campaigns.joinList(list.id, person({ email: "late@example.org" }), null)).toEqual(late);
    expect(await campaigns.joinByText({ tag: "late", from: "+49171" })).toEqual(late);
    expect([placesOn(list.id), at.store.count(users, {})]).toEqual([[], before]);
  });

  it("is rejected for lists without self-service", async () => {
    const closed = await listWith({}, { isSubscribable: false });
    const plain = await at.list("Plain");
    for (const id of [closed.id, plain, "0191d5a0-0000-7000-8000-000000000000"]) {
      expect(campaigns.find(id)).toBeNull();
      await expect(campaigns.joinList(id, person({ email: "x@example.org" }), null)).rejects.toThrow("not found");
    }
    const list = await listWith({});
    await expect(campaigns.joinList(list.id, person({}), null)).rejects.toThrow("email is required");
    await expect(campaigns.joinList(list.id, person({ email: "no address" }), null)).rejects.toThrow(
      "email is not valid",
    );
    expect(at.store.find(users, { name: "no address" })).toEqual([]);
  });

  it("is rate-limited per address", async () => {
    const list = await listWith({});
    const attempt = (number: number, address: string) =>
      campaigns.joinList(list.id, person({ email: `many${number}@example.org` }), address);
    for (let number = 0; number < 11; number++) await attempt(number, "192.0.2.1");
    await expect(attempt(11, "192.0.2.1")).rejects.toMatchObject({ retryAfterS: 60 });
    await attempt(12, "192.0.2.2");
    await at.clock.advance(60_000);
    await attempt(13, "192.0.2.1");
    expect(placesOn(list.id)).toHaveLength(13);
  });
});

describe("a text message", () => {
  it("joins by the tag in any case, and leaves again", async () => {
    const list = await listWith({ subscribeTag: "Snow", welcomeMessage: "Hello" });
    await campaigns.joinByText({ tag: " SNOW ", from: "+49 (170) 99-1" });
    await campaigns.joinByText({ tag: "snow", from: "+49170991" });
    const places = placesOn(list.id);
    expect(places).toHaveLength(1);
    const user = at.store.get(users, places[0]?.userId ?? "");
    expect(user).toMatchObject({ name: "+49170991", type: "anonymous", email: null, selfRegistered: true });
    expect(lastMessage()).toMatchObject({ subject: list.name, userIds: [user?.id] });
    await expect(campaigns.joinByText({ tag: "rain", from: "+49170991" })).rejects.toThrow("not found");
    await expect(campaigns.joinByText({ tag: "snow", from: "a friend" })).rejects.toThrow("from is not valid");
    const other = await listWith({ subscribeTag: "Ice" });
    await campaigns.joinByText({ tag: "ice", from: "+49170991" });
    expect(await campaigns.leaveByText({ tag: "snow", from: "+49170991" })).toEqual([list.name]);
    expect([placesOn(list.id).length, placesOn(other.id).length]).toEqual([0, 1]);
    expect(await campaigns.leaveByText({ tag: null, from: "+49170991" })).toEqual([other.name]);
    expect(await campaigns.leaveByText({ tag: null, from: "+49170000" })).toEqual([]);
  });
});

describe("an unsubscribe link", () => {
  it("cancels its subscription, once", async () => {
    const list = await listWith({ welcomeMessage: "Hi" });
    await campaigns.joinList(list.id, person({ email: "leaver@example.org" }), null);
    await campaigns.joinList(list.id, person({ email: "stayer@example.org" }), null);
    const first = at.store.find(notifications, { subject: list.name })[0]?.body ?? "";
    const token = first.split("/leave/")[1] ?? "";
    expect(campaigns.findListByLink(token)).toEqual({ name: list.name, isOn: true });
    await campaigns.leaveByLink(token);
    await campaigns.leaveByLink(token);
    expect(campaigns.findListByLink(token)).toEqual({ name: "", isOn: false });
    expect(placesOn(list.id)).toHaveLength(1);
  });

  it("cannot be forged, nor made from another signed link", async () => {
    const sealed = Buffer.from(
      at.store.secrets.seal("a secret of some length that has nothing to do").slice(3),
      "base64",
    );
    for (const token of ["", "x", "00".repeat(60), sealed.toString("hex")]) {
      expect(campaigns.findListByLink(token)).toBeNull();
      await expect(campaigns.leaveByLink(token)).rejects.toThrow("not found");
    }
  });
});

describe("numbers of a list", () => {
  it("are of the country of the site or of allowed prefixes, and never premium ones", async () => {
    const list = await listWith({ welcomeMessage: "Welcome!" });
    const joinWith = (policy: PhoneNumberPolicy, phone: string) =>
      createCampaigns({
        ...{ store: at.store, clock: at.clock, log: silentLog, by: at.by, contactProofs: NO_CONTACT_PROOFS, policy },
        notificationService: { send: async () => ({}) } as never,
        baseUrl: () => "https://bells.example.org",
      }).joinList(list.id, person({ phone }), null);
    const german = { country: "DE", allowedPrefixes: null };
    for (const phone of ["+49 900 1234567", "+1 876 555 1234", "+881 6 12345678", "11833"])
      await expect(joinWith(german, phone), phone).rejects.toThrow();
    await expect(joinWith(german, "0170 9876543")).resolves.toMatchObject({ outcome: "joined" });
    const listed = { country: "DE", allowedPrefixes: ["+43", "+4917"] };
    await expect(joinWith(listed, "030 5350500")).rejects.toThrow();
    for (const phone of ["+43 1 5350501", "0170 9876544"])
      await expect(joinWith(listed, phone), phone).resolves.toMatchObject({ outcome: "joined" });
    await expect(joinWith({ country: null, allowedPrefixes: null }, "+1 900 555 1234")).rejects.toThrow();
    await expect(joinWith({ country: null, allowedPrefixes: ["+1900"] }, "+1 900 555 1234")).rejects.toThrow();
  });
});
