import { afterEach, beforeEach, expect, it } from "vitest";
import { countRecipients } from "../../../../src/notifications/recipients/count-recipients.ts";
import messageTemplates from "../../../../src/resources/messages/message-templates.ts";
import optOuts from "../../../../src/resources/messages/opt-outs.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let fixture: BroadcastFixture;
beforeEach(async () => {
  fixture = await openBroadcasts();
});
afterEach(() => fixture.close());

/** A clock on which each look takes `stepMs`. */
const ticking = (stepMs: number) => {
  let now = 0;
  return {
    ...fixture.clock,
    now: () => fixture.clock.now(),
    defer: (fn: () => void) => fn(),
    monotonicMs: () => (now += stepMs),
  };
};
const count = async (input: Record<string, unknown>, stepMs = 0) =>
  countRecipients(await fixture.send({ subject: "S", ...input }), { store: fixture.store, clock: ticking(stepMs) });

it("counts each user once, on lists and by name", async () => {
  const [a, b, c] = await Promise.all(["A", "B", "C"].map((name) => fixture.user(name)));
  const lists = [await fixture.list("One", [a, b] as string[]), await fixture.list("Two", [b] as string[])];
  expect(await count({ distributionListIds: lists, userIds: [b, c] })).toBe(3);
  expect(await count({ distributionListIds: lists })).toBe(2);
  expect(await count({ deviceGroupIds: [await fixture.group("Phones", [])] })).toBe(0);
});

it("leaves out those who opted out of the template", async () => {
  const [a, b] = (await Promise.all(["A", "B"].map((name) => fixture.user(name)))) as [string, string];
  const { id } = await fixture.create(messageTemplates, { name: "T", subject: "S", userIds: [a, b], optOut: true });
  await fixture.create(optOuts, { userId: a, messageTemplateId: id });
  expect(await count({ messageTemplateId: id })).toBe(1);
  expect(await count({ userIds: [a, b] })).toBe(2);
});

it("gives up where it takes longer than 50 ms, but never on the first chunk", async () => {
  const [a, b] = (await Promise.all(["A", "B"].map((name) => fixture.user(name)))) as [string, string];
  const lists = [await fixture.list("One", [a]), await fixture.list("Two", [b])];
  expect(await count({ distributionListIds: lists }, 49)).toBe(2);
  expect(await count({ distributionListIds: lists }, 50)).toBe(null);
  expect(await count({ distributionListIds: lists.slice(0, 1) }, 50)).toBe(1);
});
