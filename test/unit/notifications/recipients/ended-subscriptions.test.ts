import { afterAll, beforeAll, expect, it } from "vitest";
import type { NotificationPreview } from "../../../../src/notifications/engine/preview.ts";
import distributionListScimGroups from "../../../../src/resources/lists/distribution-list-scim-groups.ts";
import notificationRecipients from "../../../../src/resources/notifications/notification-recipients.ts";
import subscriptions from "../../../../src/resources/people/subscriptions.ts";
import scimGroupMembers from "../../../../src/resources/security/scim-group-members.ts";
import scimGroups from "../../../../src/resources/security/scim-groups.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let at: BroadcastFixture;
beforeAll(async () => {
  at = await openBroadcasts();
});
afterAll(() => at.close());

it("reaches users with a current subscription, in a message and in a preview", async () => {
  const distributionListId = await at.list("Guests");
  const names = ["Ended", "Ends later", "Never ends"];
  const ends = [at.clock.now(), at.clock.now() + 60_000, null];
  for (const [index, name] of names.entries()) {
    const end = ends[index] as number | null;
    const subscriptionEndDate = end === null ? null : new Date(end).toISOString();
    await at.create(subscriptions, { userId: await at.user(name), distributionListId, subscriptionEndDate });
  }
  const message = { subject: "Hello", distributionListIds: [distributionListId] };
  const reached = async (): Promise<string[]> => {
    const { id: notificationId } = await at.run((await at.send(message)).id);
    return at.store.find(notificationRecipients, { notificationId }).map(({ name }) => name ?? "");
  };
  const foreseen = async (): Promise<number> => {
    const { pk } = await at.send({ ...message, draft: true });
    const line = at.store.one<{ found: string }>("SELECT found FROM notification_previews WHERE notification = ?", pk);
    return (JSON.parse(line?.found ?? "{}") as NotificationPreview).recipientCount;
  };
  expect([await reached(), await foreseen()]).toEqual([["Ends later", "Never ends"], 2]);
  await at.clock.advance(60_000);
  expect([await reached(), await foreseen()]).toEqual([["Never ends"], 1]);
});

it("reaches members of a list's directory group once, and no longer when either ends", async () => {
  const distributionListId = await at.list("Staff", [await at.user("On the list")]);
  const [both, tied] = [await at.user("On both"), await at.user("By the tie")];
  await at.create(subscriptions, { userId: both, distributionListId });
  const { id: scimGroupId } = await at.create(scimGroups, { name: "Everybody" });
  const { id: tie } = await at.create(distributionListScimGroups, { distributionListId, scimGroupId });
  const [, member] = [both, tied].map((userId) => at.create(scimGroupMembers, { scimGroupId, userId }));
  const { id: memberId } = (await member) as { id: string };
  const message = { subject: "Hello", distributionListIds: [distributionListId] };
  const reached = async (): Promise<string[]> => {
    const { id: notificationId } = await at.run((await at.send(message)).id);
    return at.store.find(notificationRecipients, { notificationId }).map(({ name }) => name ?? "");
  };
  expect((await reached()).sort()).toEqual(["By the tie", "On both", "On the list"]);
  await at.store.remove(scimGroupMembers, memberId, at.by);
  expect((await reached()).sort()).toEqual(["On both", "On the list"]);
  await at.create(scimGroupMembers, { scimGroupId, userId: tied });
  await at.store.remove(distributionListScimGroups, tie, at.by);
  expect((await reached()).sort()).toEqual(["On both", "On the list"]);
});
