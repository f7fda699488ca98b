import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { signLink } from "../../../src/auth/signed-links.ts";
import type { NotificationRow } from "../../../src/notifications/compose/message-builder.ts";
import type { NotificationPreview } from "../../../src/notifications/engine/preview.ts";
import { createDeclineLinks, DECLINED_REASON, declineLink, optOutOfTemplate } from "../../../src/people/opt-outs.ts";
import confirmationRequests from "../../../src/resources/confirmations/confirmation-requests.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import incidentPlans from "../../../src/resources/incidents/incident-plans.ts";
import incidents from "../../../src/resources/incidents/incidents.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import optOuts from "../../../src/resources/messages/opt-outs.ts";
import deliveries from "../../../src/resources/notifications/deliveries.ts";
import notificationRecipients from "../../../src/resources/notifications/notification-recipients.ts";
import userDevices from "../../../src/resources/people/user-devices.ts";
import users from "../../../src/resources/people/users.ts";
import { type AirFixture, openAir } from "../notifications/engine/engine-fixture.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

let at: BroadcastFixture;
let air: AirFixture;
let ann: string;
let ben: string;
let template: string;

beforeEach(async () => {
  at = await openBroadcasts();
  await at.store.create(extensions, { name: "Mail", type: "device", deviceType: "email" }, at.by, { plugin: "email" });
  [ann, ben] = [await person("Ann"), await person("Ben")];
  template = await templateOf({ optOut: true });
  air = await openAir(at);
});
afterEach(async () => {
  await air.notificationService.stop();
  await at.close();
});

async function person(name: string): Promise<string> {
  const userId = await at.user(name);
  await at.create(userDevices, { userId, type: "email", deviceIdentifier: `${name}@example.org` });
  return userId;
}
const CHANGEABLE = {
  userIdsCustomizable: true,
  subjectCustomizable: true,
  confirmationRequestIdCustomizable: true,
  alertToneCustomizable: true,
  incidentPlanIdCustomizable: true,
};
const templateOf = async (more: object): Promise<string> =>
  (await at.create(messageTemplates, { name: "Canteen", subject: "Canteen today", ...CHANGEABLE, ...more })).id;

const input = (more: object = {}) => ({ messageTemplateId: template, userIds: [ann, ben], ...more });
const sent = async (more: object = {}): Promise<NotificationRow> => at.run((await at.send(input(more))).id);
const declines = async (userId: string): Promise<string> => {
  const { id: notificationId } = await sent();
  return (await optOutOfTemplate(at.store, { userId, notificationId }, at.by)).id;
};
/** Who stands among the recipients, with a mark for whoever has declined. */
const recipients = ({ id: notificationId }: { id: string }): string[] =>
  at.store
    .find(notificationRecipients, { notificationId })
    .map(({ name, declined, hiddenAt }) => `${name}${declined ? " declined" : ""}${hiddenAt === null ? "" : " hidden"}`)
    .sort();
const ledger = ({ id: notificationId }: { id: string }): Record<string, [string, string | null]> =>
  Object.fromEntries(
    at.store
      .find(deliveries, { notificationId })
      .map(({ deviceIdentifier, level, reason }) => [deviceIdentifier ?? "", [level, reason]]),
  );
const counted = ({ pk }: NotificationRow): number =>
  at.store.one<{ n: number }>("SELECT n FROM notification_counters WHERE notification = ? AND name = 'recipients'", pk)
    ?.n ?? 0;
const foreseen = async (
  more: object = {},
): Promise<Pick<NotificationPreview, "recipientCount" | "userDevices" | "notReached">> => {
  const { pk } = await at.send(input({ ...more, draft: true }));
  const line = at.store.one<{ found: string }>("SELECT found FROM notification_previews WHERE notification = ?", pk);
  const { recipientCount, userDevices: own, notReached } = JSON.parse(line?.found ?? "{}") as NotificationPreview;
  return { recipientCount, userDevices: own, notReached };
};
const EVERYBODY = ["Ann", "Ben"];
const ALL_FORESEEN = { recipientCount: 2, userDevices: { email: 2 }, notReached: [] };

describe("a recipient who opted out of a template", () => {
  it("gets none of its messages, as previewed, but those of other templates", async () => {
    await declines(ann);
    const message = await sent();
    expect(recipients(message)).toEqual(["Ann declined hidden", "Ben"]);
    expect(ledger(message)).toEqual({ "Ben@example.org": ["planned", null] });
    expect(counted(message)).toBe(1);
    expect(await foreseen()).toEqual({
      ...{ recipientCount: 1, userDevices: { email: 1 } },
      notReached: [{ reason: DECLINED_REASON, count: 1 }],
    });
    const other = await templateOf({ name: "Library", optOut: true });
    expect(recipients(await sent({ messageTemplateId: other }))).toEqual(EVERYBODY);
    expect(recipients(await sent({ messageTemplateId: null, subject: "Hello" }))).toEqual(EVERYBODY);
  });

  it("gets emergencies, their drills, and all messages while the template allows no opt-out", async () => {
    const wish = await declines(ann);
    for (const more of [{ priority: "critical" }, { priority: "critical", drill: true }]) {
      const message = await sent(more);
      expect([recipients(message), counted(message)]).toEqual([EVERYBODY, 2]);
      expect(await foreseen(more)).toEqual(ALL_FORESEEN);
    }
    const letsDecline = (optOut: boolean) => at.store.update(messageTemplates, template, { optOut }, at.by);
    await letsDecline(false);
    expect([recipients(await sent()), await foreseen()]).toEqual([EVERYBODY, ALL_FORESEEN]);
    await letsDecline(true);
    expect(recipients(await sent())).toEqual(["Ann declined hidden", "Ben"]);
    await at.store.remove(optOuts, wish, at.by);
    expect([recipients(await sent()), await foreseen()]).toEqual([EVERYBODY, ALL_FORESEEN]);
  });

  it("gets follow-ups of an emergency, incident messages and all-clears", async () => {
    await declines(ann);
    const { id: emergency } = await sent({ priority: "critical" });
    const { id: after } = await sent({ followUpForNotificationId: emergency });
    const { id: incidentPlanId } = await at.create(incidentPlans, { name: "Fire" });
    const incident = await at.store.create(incidents, {}, at.by, { drill: false });
    for (const more of [
      ...[{ followUpForNotificationId: emergency }, { followUpForNotificationId: after }],
      ...[{ incidentId: incident.id }, { incidentPlanId }, { alertTone: "all-clear1" }],
    ]) {
      const message = await sent(more);
      expect([recipients(message), counted(message)], JSON.stringify(more)).toEqual([EVERYBODY, 2]);
      expect(await foreseen(more)).toEqual(ALL_FORESEEN);
      await expect(
        optOutOfTemplate(at.store, { userId: ben, notificationId: message.id }, at.by),
      ).rejects.toMatchObject({
        type: "conflict",
      });
    }
    const { id: routine } = await sent();
    expect(recipients(await sent({ followUpForNotificationId: routine }))).toEqual(["Ann declined hidden", "Ben"]);
  });

  it("is not asked by repeats and retries", async () => {
    await declines(ann);
    const { id: confirmationRequestId } = await at.create(confirmationRequests, {
      ...{ name: "Coming?", options: ["Yes"], repeatInterval: 60, repeatLimit: 1 },
    });
    const pass = async (ms: number): Promise<void> => {
      await at.clock.advance(ms);
      for (let round = 0; round < 100; round++) await at.clock.advance(1);
    };
    const id = await air.send(input({ confirmationRequestId }));
    await air.untilSettled(id);
    await pass(61_000);
    expect(air.channels.asked()).toEqual(["Ben@example.org", "Ben@example.org"]);
    expect(air.channels.given[0]?.items[0]?.recipient?.declineUrl).toMatch(/\/decline\/[0-9a-f]{80,}$/);
    await air.untilSettled(id);
    await expect(air.notificationService.retry(id, at.by)).rejects.toMatchObject({ type: "conflict" });
    expect(air.channels.asked()).toHaveLength(2);
    expect(Object.keys(ledger({ id }))).toEqual(["Ben@example.org"]);
  });

  it("must be a recipient of a message with opt-out, and opts out once", async () => {
    const first = await declines(ann);
    expect(await declines(ann)).toBe(first);
    expect(at.store.find(optOuts, {})).toMatchObject([
      { userId: ann, messageTemplateId: template, subject: "Canteen today" },
    ]);
    const decline = async (userId: string, more: object) => {
      const { id: notificationId } = await sent(more);
      return optOutOfTemplate(at.store, { userId, notificationId }, at.by);
    };
    await expect(decline(await at.user("Stranger"), {})).rejects.toMatchObject({ type: "not-found" });
    await expect(decline(ben, { priority: "critical" })).rejects.toMatchObject({ type: "conflict" });
    await expect(decline(ben, { messageTemplateId: await templateOf({ name: "Strict" }) })).rejects.toMatchObject({
      type: "conflict",
    });
    expect(at.store.count(optOuts, {})).toBe(1);
  });

  it("is deleted with the account, and with the template", async () => {
    await declines(ann);
    await declines(ben);
    await at.store.remove(users, ann, at.by);
    expect(at.store.find(optOuts, {})).toMatchObject([{ userId: ben }]);
    await at.store.remove(messageTemplates, template, at.by);
    expect(at.store.count(optOuts, {})).toBe(0);
  });
});

describe("the opt-out link", () => {
  const linkOf = async (userId: string) => {
    const { id: notificationId } = await sent();
    const [row] = at.store.find(notificationRecipients, { notificationId, userId });
    return { token: declineLink(row?.id ?? "", "", at.store).slice("/decline/".length), recipientId: row?.id ?? "" };
  };
  const links = () => createDeclineLinks({ store: at.store, clock: at.clock, by: at.by });

  it("opts out its recipient only, for 30 days, while the template allows it", async () => {
    const { token } = await linkOf(ann);
    expect(links().find(token)).toEqual({ subject: "Canteen today", isDeclined: false });
    expect(at.store.count(optOuts, {})).toBe(0);
    await links().decline(token);
    await links().decline(token);
    expect(links().find(token)).toEqual({ subject: "Canteen today", isDeclined: true });
    expect(at.store.find(optOuts, {})).toMatchObject([{ userId: ann, messageTemplateId: template }]);
    await at.store.update(messageTemplates, template, { optOut: false }, at.by);
    expect(links().find(token)).toBeNull();
    await at.store.update(messageTemplates, template, { optOut: true }, at.by);
    expect(links().find(token)).not.toBeNull();
    await at.clock.advance(30 * 86_400_000);
    expect(links().find(token)).toBeNull();
    await expect(links().decline(token)).rejects.toMatchObject({ type: "not-found" });
  });

  it("rejects links of another purpose, and forged ones", async () => {
    const { token, recipientId } = await linkOf(ann);
    const forged = `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`;
    for (const wrong of [signLink("answer", recipientId, at.store), forged, recipientId, "0".repeat(120)]) {
      expect(links().find(wrong)).toBeNull();
      await expect(links().decline(wrong)).rejects.toMatchObject({ type: "not-found" });
    }
    expect(at.store.count(optOuts, {})).toBe(0);
  });
});
