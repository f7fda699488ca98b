import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSentenceRegistry } from "../../../src/lib/sentences/registry.ts";
import { encodeWav } from "../../../src/media/wav.ts";
import { messageTemplateHooks } from "../../../src/notifications/compose/message-template-hooks.ts";
import { addActivity } from "../../../src/notifications/engine/activity-log.ts";
import { readVerdicts, storeLevelCounts } from "../../../src/notifications/engine/counters.ts";
import { notificationHooks } from "../../../src/notifications/engine/notification-hooks.ts";
import { deliveryHooks, recipientHooks } from "../../../src/notifications/recipients/recipient-hooks.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import deliveries from "../../../src/resources/notifications/deliveries.ts";
import notificationRecipients from "../../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import userDevices from "../../../src/resources/people/user-devices.ts";
import type { AnyResource, RowOf } from "../../../src/schema/resource.ts";
import type { FileStore, ResourceHooks, StoreReader } from "../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "./notification-fixture.ts";

let fixture: BroadcastFixture;
let files: FileStore | null = null;
const templates = messageTemplateHooks(() => files as FileStore);

beforeAll(async () => {
  fixture = await openBroadcasts({
    notifications: notificationHooks as unknown as ResourceHooks,
    "message-templates": templates as unknown as ResourceHooks,
  });
  files = fixture.store.files;
});
afterAll(() => fixture.close());

function shown<R extends AnyResource>(
  behaviour: ResourceHooks<R>,
  rows: readonly RowOf<R>[],
  query: Record<string, unknown> = {},
  reader: StoreReader = fixture.store,
): Record<string, unknown>[] {
  return (
    behaviour.present?.(rows, {
      reader,
      sentences: createSentenceRegistry(),
      scope: fixture.by.scope,
      query,
      params: {},
      hide: <R>(_resource: unknown, rows: readonly R[]) => rows,
    }) ?? []
  );
}

/** The store, counting its queries. */
function counting(): { reader: StoreReader; asked: () => number } {
  let asked = 0;
  const reader = new Proxy(fixture.store, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        asked++;
        return member.apply(target, args);
      };
    },
  });
  return { reader, asked: () => asked };
}

describe("notifications", () => {
  it("show their results with a fixed number of queries per page", async () => {
    const userId = await fixture.user("Ann");
    const rows: RowOf<typeof notifications>[] = [];
    for (let n = 0; n < 5; n++) {
      rows.push(await fixture.run((await fixture.send({ subject: "x", userIds: [userId] })).id));
    }
    const one = counting();
    shown(notificationHooks, rows.slice(0, 1), {}, one.reader);
    const all = counting();
    expect(shown(notificationHooks, rows, {}, all.reader)).toHaveLength(5);
    expect(all.asked()).toBe(one.asked());
    expect(all.asked()).toBeLessThanOrEqual(4);
  });

  it("show progress by activity types and delivery states", async () => {
    await fixture.phone("SEP001122334401");
    await fixture.zone("gym");
    const deviceGroupIds = [await fixture.group("G", ["SEP001122334401", "zone:gym"])];
    const sent = await fixture.send({ subject: "x", deviceGroupIds });
    const look = () => shown(notificationHooks, [fixture.store.get(notifications, sent.id) as never])[0]?.progress;
    expect(look()).toMatchObject({ percentComplete: 0, devices: {}, initServicesCount: 1, sendingStartedCount: 0 });
    const row = await fixture.run(sent.id);
    expect(look()).toMatchObject({ percentComplete: 0, devices: { planned: 2 }, sendingStartedCount: 1 });
    await fixture.store.write((tx) => {
      tx.run("UPDATE deliveries SET level = 'sent' WHERE notification_pk = ? AND type = 'speakers'", row.pk);
      addActivity(tx, { notificationId: row.id, type: "broadcast-started" }, fixture.by);
    });
    expect(look()).toMatchObject({ percentComplete: 50, devices: { planned: 1, sent: 1 }, broadcastStartedCount: 1 });
    await fixture.store.write((tx) => {
      tx.run("UPDATE deliveries SET level = 'playing' WHERE notification_pk = ? AND type = 'phones'", row.pk);
    });
    expect(look()).toMatchObject({ percentComplete: 99 });
    await fixture.store.write((tx) => {
      expect(storeLevelCounts(tx, row.pk)).toEqual({ playing: 1, sent: 1 });
      tx.run("UPDATE notifications SET stage = 'settled' WHERE pk = ?", row.pk);
      tx.run("DELETE FROM deliveries WHERE notification_pk = ?", row.pk);
    });
    expect(look()).toMatchObject({
      percentComplete: 100,
      devices: { playing: 1, sent: 1 },
      outcomes: { heard: 0, played: 1, textOnly: 0, noReceipt: 1, notReached: 0, skipped: 0, waiting: 0 },
      verdict: "partlyNoReceipt",
    });
    expect(readVerdicts(fixture.store, [sent.id, "0190aaaa-0000-7000-8000-000000000001"])).toEqual(
      new Map([[sent.id, "partlyNoReceipt"]]),
    );
    const settled = counting();
    shown(notificationHooks, [fixture.store.get(notifications, sent.id) as never], {}, settled.reader);
    expect(settled.asked()).toBe(2);
  });

  it("are created by the notification service only, and deleted only once they are settled", async () => {
    await expect(fixture.create(notifications, { subject: "x" })).rejects.toThrow(
      "must be created by the notification service",
    );
    const row = await fixture.send({ subject: "x", userIds: [await fixture.user("Bea")] });
    await expect(fixture.store.remove(notifications, row.id, fixture.by)).rejects.toMatchObject({ type: "conflict" });
    await fixture.run(row.id);
    await fixture.store.write(
      (tx) => tx.run("UPDATE notifications SET stage = 'settled' WHERE pk = ?", row.pk).changes,
    );
    await fixture.store.remove(notifications, row.id, fixture.by);
    expect(fixture.store.all("SELECT * FROM notification_counters WHERE notification = ?", row.pk)).toEqual([]);
    expect(fixture.store.count(notificationRecipients, {})).toBeGreaterThan(0);
    expect(fixture.store.one("SELECT 1 FROM notification_recipients WHERE notification_pk = ?", row.pk)).toBeNull();
  });

  it("show the start time of a held bell", async () => {
    const row = await fixture.send({ subject: "x", userIds: [await fixture.user("Di")] });
    const at = Date.parse("2026-03-02T08:00:00.000Z");
    const held = { ...row, heldUntil: at };
    const told = shown(notificationHooks, [row, held]).map(({ soundsAt }) => soundsAt);
    expect(told).toEqual([null, "2026-03-02T08:00:00.000Z"]);
  });

  it("show the content type of their image", async () => {
    const pixel = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
    const bytes = (async function* () {
      yield pixel;
    })();
    const image = await fixture.store.files.put(bytes, { fileName: "a.gif", maxBytes: 1e6, types: ["image/gif"] });
    const row = await fixture.send({ subject: "x", image, userIds: [await fixture.user("Cy")] });
    expect(shown(notificationHooks, [row])[0]).toMatchObject({ imageMimeType: "image/gif", followUpAllowed: true });
  });
});

describe("recipients and ledger rows", () => {
  it("show delivery states on request, and outcomes and device attributes", async () => {
    const userId = await fixture.user("Dan");
    for (const type of ["email", "SMS"]) await fixture.create(userDevices, { userId, type });
    await fixture.phone("SEP00112233440D", { attributes: { Name: "Hall" } });
    const deviceGroupIds = [await fixture.group("D", ["SEP00112233440D"])];
    const { id: notificationId } = await fixture.run(
      (await fixture.send({ subject: "x", userIds: [userId], deviceGroupIds })).id,
    );
    const people = fixture.store.find(notificationRecipients, { notificationId });
    expect(shown(recipientHooks, people)).toEqual([{ defunct: false }]);
    expect(shown(recipientHooks, people, { includeDevicesSummary: true })).toEqual([
      { defunct: false, devicesSummary: { skipped: 2 } },
    ]);
    const rows = fixture.store.find(deliveries, { notificationId });
    const noPlugin = (type: string) => ({ code: "delivery.no-plugin-for-device-type", params: { type } });
    expect(shown(deliveryHooks, rows)).toEqual([
      { attributes: { Name: "Hall" }, outcome: "waiting", nextAttemptAt: null, reasonSentence: null },
      { attributes: {}, outcome: "skipped", nextAttemptAt: null, reasonSentence: noPlugin("email") },
      { attributes: {}, outcome: "skipped", nextAttemptAt: null, reasonSentence: noPlugin("SMS") },
    ]);
    const [one] = rows.map((each) => ({ ...each, retryAt: 40_000 }));
    const due = (endedAt: number | null) => shown(deliveryHooks, one ? [{ ...one, endedAt }] : []);
    expect(due(null)).toMatchObject([{ nextAttemptAt: "1970-01-01T00:00:40.000Z" }]);
    expect(due(1)).toMatchObject([{ nextAttemptAt: null }]);
  });
});

describe("templates", () => {
  const plain = { name: "T", subject: "S" };

  it("accept playable recordings without clipping", async () => {
    const loud = (async function* () {
      yield encodeWav(new Int16Array(8_000).map((_, at) => (at % 20 < 10 ? 32_767 : -32_768)));
    })();
    const shouted = await fixture.store.files.put(loud, { fileName: "b.wav", maxBytes: 1e6, types: ["audio/wav"] });
    await expect(fixture.create(messageTemplates, { ...plain, audio: shouted })).rejects.toThrow(
      /100 % of it is clipped/,
    );
    const noise = (async function* () {
      yield Buffer.from("RIFF\x10\0\0\0WAVEfmt nothing that sounds");
    })();
    const audio = await fixture.store.files.put(noise, { fileName: "b.wav", maxBytes: 1e6, types: ["audio/wav"] });
    await expect(fixture.create(messageTemplates, { ...plain, audio })).rejects.toMatchObject({
      faults: [{ field: "audio" }],
    });
  });

  it.each([
    [{}, "Text"],
    [{ alertTone: "silent" }, "Text"],
    [{ alertTone: "klaxon" }, "TextAndAudio"],
    [{ ttsType: "subject" }, "TextAndAudio"],
    [{ audio: true }, "TextAndAudio"],
  ])("with %j are of the kind %s", async (more, kind) => {
    const audio = "audio" in more ? { audio: await fixture.recording(40) } : {};
    const row = await fixture.create(messageTemplates, { ...plain, ...more, ...audio });
    const [view] = shown(templates, [row]);
    expect(view).toMatchObject({ inferredMessageType: kind, imageMimeType: null, imageSize: 0, imageHash: null });
    expect([view?.audioSize, view?.audioHash]).toEqual([row.audio?.size ?? 0, row.audio?.sha256 ?? null]);
  });
});
