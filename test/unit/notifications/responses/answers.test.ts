import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSentenceRegistry } from "../../../../src/lib/sentences/registry.ts";
import { notificationHooks } from "../../../../src/notifications/engine/notification-hooks.ts";
import { recordAnswer, recordChannelAnswer, recordRead } from "../../../../src/notifications/responses/answers.ts";
import { findTrackedPeople } from "../../../../src/notifications/responses/tracked-people.ts";
import { endTracking, recordPosition } from "../../../../src/notifications/responses/tracking.ts";
import confirmationRequests from "../../../../src/resources/confirmations/confirmation-requests.ts";
import dynamicReplies from "../../../../src/resources/confirmations/dynamic-replies.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notificationRecipients from "../../../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import type { RowOf } from "../../../../src/schema/resource.ts";
import type { ActorContext } from "../../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let fixture: BroadcastFixture;
let ann: string;
let ben: string;
let outsider: string;
let requestId: string;

beforeAll(async () => {
  fixture = await openBroadcasts();
  [ann, ben, outsider] = [await fixture.user("Ann"), await fixture.user("Ben"), await fixture.user("Outsider")];
  const request = { name: "Safe?", options: ["Yes", "No"], expirationPeriod: 60 };
  requestId = (await fixture.create(confirmationRequests, request)).id;
});
afterAll(() => fixture.close());

const send = async (more: object = {}): Promise<RowOf<typeof notifications>> => {
  const sent = await fixture.send({ subject: "x", userIds: [ann, ben], confirmationRequestId: requestId, ...more });
  return fixture.run(sent.id);
};
const as = (userId: string): ActorContext => ({
  ...fixture.by,
  actor: { kind: "user", userId, name: "u", address: null },
});
const answer = (id: string, userId: string, option: string) =>
  recordAnswer(id, userId, option, as(userId), fixture.needs);
const recipient = (notificationId: string, userId: string) =>
  fixture.store.find(notificationRecipients, { notificationId, userId })[0];
const shown = (id: string): Record<string, unknown> => {
  const row = fixture.store.get(notifications, id);
  const context = {
    reader: fixture.store,
    sentences: createSentenceRegistry(),
    scope: fixture.by.scope,
    query: {},
    params: {},
    hide: <R>(_resource: unknown, rows: readonly R[]) => rows,
  };
  return row ? (notificationHooks.present?.([row], context)[0] ?? {}) : {};
};

describe("answers", () => {
  it("count each recipient once; the last answer counts, the activity log keeps all", async () => {
    const { id } = await send();
    expect(shown(id)).toMatchObject({ confirmationResults: { Yes: 0, No: 0 }, readCount: 0, confirmableCount: 2 });
    const entry = await answer(id, ann, "Yes");
    expect(entry).toMatchObject({ type: "confirmation", userId: ann, confirmationOption: "Yes" });
    await fixture.clock.advance(5_000);
    await answer(id, ann, "No");
    await answer(id, ben, "No");
    expect(recipient(id, ann)).toMatchObject({
      confirmationResponse: "No",
      confirmationResponseTimestamp: fixture.clock.now(),
      read: true,
      readTimestamp: fixture.clock.now() - 5_000,
    });
    expect(shown(id)).toMatchObject({ confirmationResults: { Yes: 0, No: 2 }, readCount: 2, recipientCount: 2 });
    const entries = fixture.store.find(notificationActivities, { notificationId: id, type: "confirmation" });
    expect(entries.map(({ userId, confirmationOption }) => [userId, confirmationOption])).toEqual([
      [ann, "Yes"],
      [ann, "No"],
      [ben, "No"],
    ]);
  });

  it("come in through channels by the recipient row", async () => {
    const { id } = await send();
    await recordChannelAnswer(recipient(id, ben)?.id ?? "", "Yes", fixture.by, fixture.needs);
    expect(shown(id)).toMatchObject({ confirmationResults: { Yes: 1, No: 0 } });
    const unknown = recordChannelAnswer("0190aaaa-0000-7000-8000-000000000000", "Yes", fixture.by, fixture.needs);
    await expect(unknown).rejects.toMatchObject({ type: "not-found" });
  });

  it("are rejected where they are not possible", async () => {
    const { id } = await send();
    await expect(answer(id, ann, "Maybe")).rejects.toMatchObject({ faults: [{ field: "confirmationOption" }] });
    await expect(answer(id, ann, "yes")).rejects.toMatchObject({ faults: [{ field: "confirmationOption" }] });
    await expect(answer(id, outsider, "Yes")).rejects.toMatchObject({ type: "not-found" });
    await expect(answer(fixture.endpointId, ann, "Yes")).rejects.toMatchObject({ type: "not-found" });
    const plain = await send({ confirmationRequestId: null });
    await expect(answer(plain.id, ann, "Yes")).rejects.toMatchObject({ faults: [{ field: "confirmationOption" }] });
    expect(shown(plain.id)).toMatchObject({ confirmationResults: {}, confirmableCount: 0 });
    expect(fixture.store.count(notificationActivities, { notificationId: id, type: "confirmation" })).toBe(0);
  });

  it("are accepted until the request, the message or a user ends them", async () => {
    const byRequest = await send();
    const byMessage = await send({ expiration: 10 });
    const byHand = await send();
    await fixture.store.write((tx) => {
      tx.run("UPDATE notifications SET aborted_at = ? WHERE id = ?", fixture.clock.now() + 20_000, byHand.id);
    });
    const verdicts = async () => {
      const all = [byRequest, byMessage, byHand].map(({ id }) =>
        answer(id, ann, "Yes").then(
          () => "ok",
          (e) => e.type,
        ),
      );
      return Promise.all(all);
    };
    await fixture.clock.advance(9_999);
    expect(await verdicts()).toEqual(["ok", "ok", "ok"]);
    await fixture.clock.advance(1);
    expect(await verdicts()).toEqual(["ok", "conflict", "ok"]);
    await fixture.clock.advance(10_000);
    expect(await verdicts()).toEqual(["ok", "conflict", "conflict"]);
    await fixture.clock.advance(39_999);
    expect(await verdicts()).toEqual(["ok", "conflict", "conflict"]);
    await fixture.clock.advance(1);
    expect(await verdicts()).toEqual(["conflict", "conflict", "conflict"]);
  });
});

describe("replies", () => {
  const reply = (more: object) => ({ confirmationRequestId: requestId, optionLabel: "Yes", ...more });

  it("go to the first of the quota, to the rest, and to all", async () => {
    const first = await fixture.create(
      dynamicReplies,
      reply({ quota: 1, first: "Come.", rest: "Stay.", every: "Thanks." }),
    );
    const { id } = await send();
    const given = (userId: string) => recipient(id, userId)?.dynamicReply;
    const entry = await answer(id, ann, "Yes");
    expect(entry.details).toEqual({ confirmationOption: "Yes", dynamicReply: "Come.\nThanks." });
    expect(await recordChannelAnswer(recipient(id, ben)?.id ?? "", "Yes", fixture.by, fixture.needs)).toBe(
      "Stay.\nThanks.",
    );
    await answer(id, ann, "Yes");
    expect([given(ann), given(ben)]).toEqual(["Come.\nThanks.", "Stay.\nThanks."]);
    await answer(id, ann, "No");
    expect(given(ann)).toBeNull();
    await answer(id, ben, "No");
    await answer(id, ben, "Yes");
    expect(given(ben)).toBe("Come.\nThanks.");
    await answer(id, ann, "Yes");
    expect(given(ann)).toBe("Stay.\nThanks.");
    await fixture.store.remove(dynamicReplies, first.id, fixture.by);
  });

  it("have no limit without a quota, and are empty without text", async () => {
    const { id: replyId } = await fixture.create(dynamicReplies, reply({ first: "Come.", rest: "Stay." }));
    const { id } = await send();
    for (const userId of [ann, ben]) await answer(id, userId, "Yes");
    expect([ann, ben].map((userId) => recipient(id, userId)?.dynamicReply)).toEqual(["Come.", "Come."]);
    await fixture.store.remove(dynamicReplies, replyId, fixture.by);
    const plain = await send();
    await answer(plain.id, ann, "Yes");
    expect(recipient(plain.id, ann)?.dynamicReply).toBeNull();
  });
});

describe("tracking", () => {
  const position = { latitude: 48.1, longitude: 11.5, accuracyM: 5 };

  it("stores positions from an answer until another answer or the end", async () => {
    const ask = { name: "Where?", options: ["Help", "Fine"], initiateTrackingOptions: [true] };
    const tracking = (await fixture.create(confirmationRequests, ask)).id;
    const phone = await fixture.create(userDevices, {
      userId: ann,
      type: "Android",
      name: "a",
      deviceIdentifier: "a1",
    });
    const { id, pk } = await send({ confirmationRequestId: tracking, expiration: 600 });
    const report = () =>
      fixture.store.write((tx) =>
        recordPosition(tx, phone, { ...position, at: fixture.clock.now() }, fixture.clock.now()),
      );
    const tracks = () => findTrackedPeople(pk, fixture.store, fixture.clock);
    const types = () => fixture.store.find(notificationActivities, { notificationId: id }).map(({ type }) => type);
    await report();
    expect(await tracks()).toEqual([]);
    await answer(id, ann, "Help");
    await answer(id, ben, "Fine");
    await report();
    expect(await tracks()).toMatchObject([
      { userId: ann, endedAt: null, count: 1, last: { ...position, deviceId: phone.id } },
    ]);
    await answer(id, ann, "Fine");
    await report();
    expect(await tracks()).toMatchObject([{ count: 1, endedAt: fixture.clock.now() }]);
    await answer(id, ann, "Help");
    await report();
    await fixture.store.write((tx) => {
      const row = tx.get(notifications, id);
      if (row) endTracking(tx, row, "tracking-completed", fixture.clock.now(), fixture.by);
    });
    await report();
    expect(await tracks()).toMatchObject([{ count: 2, endedAt: fixture.clock.now() }]);
    const told = types().filter((type) => type.startsWith("tracking"));
    expect(told).toEqual(["tracking-started", "tracking-terminated", "tracking-started", "tracking-completed"]);
  });
});

describe("reading", () => {
  it("is counted once per recipient and can be undone", async () => {
    const { id } = await send();
    const read = (userId: string, value: boolean) => recordRead(id, userId, value, as(userId), fixture.needs);
    expect(await read(ann, true)).toMatchObject({ type: "set-read-status", readStatus: "read", userId: ann });
    const first = fixture.clock.now();
    await fixture.clock.advance(1_000);
    await read(ann, true);
    await read(ben, true);
    expect(shown(id)).toMatchObject({ readCount: 2 });
    await read(ann, false);
    await read(ann, false);
    expect(shown(id)).toMatchObject({ readCount: 1 });
    await read(ann, true);
    expect(recipient(id, ann)).toMatchObject({ read: true, readTimestamp: first });
    expect(shown(id)).toMatchObject({ readCount: 2 });
    await expect(read(outsider, true)).rejects.toMatchObject({ type: "not-found" });
  });
});
