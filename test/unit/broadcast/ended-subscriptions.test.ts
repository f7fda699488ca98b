import { afterAll, beforeAll, expect, it } from "vitest";
import type { Preview } from "../../../src/broadcast/preview.ts";
import notificationRecipients from "../../../src/resources/broadcasts/notification-recipients.ts";
import subscriptions from "../../../src/resources/people/subscriptions.ts";
import { type BroadcastFixture, openBroadcasts } from "./broadcast-fixture.ts";

let at: BroadcastFixture;
beforeAll(async () => {
  at = await openBroadcasts();
});
afterAll(() => at.close());

it("reaches whoever's subscription has not ended: as a message, and as what is foreseen of one", async () => {
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
    const line = at.store.one<{ found: string }>("SELECT found FROM broadcast_previews WHERE notification = ?", pk);
    return (JSON.parse(line?.found ?? "{}") as Preview).recipientCount;
  };
  expect([await reached(), await foreseen()]).toEqual([["Ends later", "Never ends"], 2]);
  await at.clock.advance(60_000);
  expect([await reached(), await foreseen()]).toEqual([["Never ends"], 1]);
});
