import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { silentLog } from "../../../../src/lib/log.ts";
import { recordChannelAnswer } from "../../../../src/notifications/responses/answers.ts";
import {
  createTextMessageHandler,
  type TextMessageHandler,
} from "../../../../src/notifications/responses/text-replies.ts";
import { createCampaigns } from "../../../../src/people/campaigns.ts";
import confirmationRequests from "../../../../src/resources/confirmations/confirmation-requests.ts";
import distributionLists from "../../../../src/resources/lists/distribution-lists.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notificationRecipients from "../../../../src/resources/notifications/notification-recipients.ts";
import subscriptions from "../../../../src/resources/people/subscriptions.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import { NO_CONTACT_PROOFS } from "../../../support/no-contact-proofs.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

const HOUR_MS = 3_600_000;
const ANN = "+491701234567";

let at: BroadcastFixture;
let take: TextMessageHandler;
let ann: string;
let requestId: string;

beforeAll(async () => {
  at = await openBroadcasts();
  const { store, clock, by } = at;
  const recordForChannel = (_provider: string, id: string, option: string) =>
    recordChannelAnswer(id, option, by, at.needs);
  const notificationService = {
    recordChannelAnswer: recordForChannel,
    send: (input: Record<string, unknown>) => at.send(input),
  } as never;
  const needs = { store, clock, notificationService, by };
  const campaigns = createCampaigns({
    ...needs,
    log: silentLog,
    contactProofs: NO_CONTACT_PROOFS,
    policy: { country: null, allowedPrefixes: null },
    baseUrl: () => "https://bells.example.org",
  });
  take = createTextMessageHandler({ ...needs, campaigns });
  ann = await at.user("Ann");
  await withNumber(ann, "+49 170 1234567");
  const request = { name: "Safe?", options: ["Yes", "No"], expirationPeriod: 60 };
  requestId = (await at.create(confirmationRequests, request)).id;
});
afterAll(() => at.close());

const withNumber = (userId: string, deviceIdentifier: string) =>
  at.store.create(userDevices, { type: "SMS", deviceIdentifier }, at.by, { userId });
const say = (text: string, from = ANN) => take({ from, text });
async function ask(userIds: string[], options?: string[]): Promise<string> {
  const own =
    options && (await at.create(confirmationRequests, { name: options.join(), options, expirationPeriod: 60 }));
  const { id } = await at.send({ subject: "x", userIds, confirmationRequestId: own?.id ?? requestId });
  await at.run(id);
  return id;
}
const answerOf = (notificationId: string, userId: string) =>
  at.store.find(notificationRecipients, { notificationId, userId })[0]?.confirmationResponse;

describe("a text message", () => {
  it("answers the newest question by option number or text, from a phone number in any format", async () => {
    const older = await ask([ann]);
    const newer = await ask([ann]);
    expect(await say(" 2. ", "491701234567")).toEqual({ kind: "answered", option: "No" });
    expect(answerOf(newer, ann)).toBe("No");
    expect(await say("yes")).toEqual({ kind: "answered", option: "Yes" });
    expect(answerOf(newer, ann)).toBe("Yes");
    expect(answerOf(older, ann)).toBeNull();
    expect(at.store.find(notificationActivities, { notificationId: newer, type: "sms-received" }).length).toBe(2);
    expect(await say("3")).toEqual({ kind: "unknown" });
  });

  it("counts for all who share the number", async () => {
    const [bob, eve] = [await at.user("Bob"), await at.user("Eve")];
    await withNumber(bob, "+15550123");
    await withNumber(eve, "+15550123");
    const id = await ask([bob, eve]);
    await say("1", "+1 (555) 0123");
    expect([answerOf(id, bob), answerOf(id, eve)]).toEqual(["Yes", "Yes"]);
  });

  it("is too late once answers are no longer accepted, and answers nothing a day later", async () => {
    await ask([ann]);
    await at.clock.advance(61_000);
    expect(await say("1")).toEqual({ kind: "refused", why: "too-late" });
    await at.clock.advance(24 * HOUR_MS);
    expect(await say("1")).toEqual({ kind: "unknown" });
  });

  it("stops and starts the number's messages", async () => {
    const device = () => at.store.find(userDevices, { userId: ann })[0];
    expect(await say("stop")).toEqual({ kind: "stopped" });
    expect(device()).toMatchObject({ disabled: true });
    expect(await say("Start")).toEqual({ kind: "started" });
    expect(device()).toMatchObject({ disabled: false });
  });

  it("joins a list by its tag and leaves it by name", async () => {
    const campaign = { subscribeTag: "CHOIR" };
    const list = await at.create(distributionLists, { name: "Choir", isSubscribable: true, campaign });
    expect(await say("choir")).toEqual({ kind: "joined", list: "Choir" });
    expect(at.store.count(subscriptions, { distributionListId: list.id })).toBe(1);
    expect(await say("STOP choir")).toEqual({ kind: "left", lists: ["Choir"] });
    expect(at.store.count(subscriptions, { distributionListId: list.id })).toBe(0);
    expect(await say("opera")).toEqual({ kind: "unknown" });
    await expect(say("hello", "no number")).rejects.toThrow("telephone number");
  });

  it("comes from a number that is stored in another spelling", async () => {
    const [bob, eve] = [await at.user("Bob"), await at.user("Eve")];
    await withNumber(bob, "0171 / 765 43-21");
    await withNumber(eve, "+49 (0)171 7654322");
    const id = await ask([bob, eve]);
    await say("1", "+491717654321");
    await say("No!", "+491717654322");
    expect([answerOf(id, bob), answerOf(id, eve)]).toEqual(["Yes", "No"]);
    expect(await say("Arrêt!", "+491717654321")).toEqual({ kind: "stopped" });
    expect(at.store.find(userDevices, { userId: bob })[0]).toMatchObject({ disabled: true });
  });

  it("counts as an answer rather than a keyword, except for STOP, and as a list rather than HELP", async () => {
    const campaign = { subscribeTag: "INFO" };
    await at.create(distributionLists, { name: "News", isSubscribable: true, campaign });
    expect(await say("help")).toEqual({ kind: "help" });
    expect(await say("Info")).toEqual({ kind: "joined", list: "News" });
    const id = await ask([ann], ["Help", "Cancel", "Stop"]);
    expect(await say("HELP!")).toEqual({ kind: "answered", option: "Help" });
    expect(await say("cancel")).toEqual({ kind: "answered", option: "Cancel" });
    expect(answerOf(id, ann)).toBe("Cancel");
    expect(await say("stop")).toEqual({ kind: "stopped" });
  });
});
