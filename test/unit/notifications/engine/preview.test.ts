import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSentenceRegistry } from "../../../../src/lib/sentences/registry.ts";
import type { NotificationRow } from "../../../../src/notifications/compose/message-builder.ts";
import { incrementCounter } from "../../../../src/notifications/engine/counters.ts";
import { notificationHooks } from "../../../../src/notifications/engine/notification-hooks.ts";
import { expectedAndActualSeconds } from "../../../../src/notifications/engine/preview.ts";
import devices from "../../../../src/resources/devices/devices.ts";
import deliveries from "../../../../src/resources/notifications/deliveries.ts";
import notificationRecipients from "../../../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let fixture: BroadcastFixture;

beforeAll(async () => {
  fixture = await openBroadcasts();
});
afterAll(() => fixture.close());

const preview = (row: NotificationRow): Record<string, unknown> => {
  const context = {
    reader: fixture.store,
    sentences: createSentenceRegistry(),
    scope: fixture.by.scope,
    query: {},
    params: {},
    hide: <R>(_resource: unknown, rows: readonly R[]) => rows,
  };
  return notificationHooks.present?.([row], context)[0] ?? {};
};

describe("a draft", () => {
  it("lists who and what would be reached, and sends nothing", async () => {
    const [ann, ben] = [await fixture.user("Ann"), await fixture.user("Ben")];
    await fixture.create(userDevices, { userId: ann, type: "email", deviceIdentifier: "a@example.org" });
    await fixture.create(userDevices, { userId: ann, type: "SMS", deviceIdentifier: "+1", disabled: true });
    await fixture.create(userDevices, { userId: ben, type: "email", deviceIdentifier: "b@example.org" });
    await fixture.phone("SEP001122334401");
    const dead = await fixture.phone("SEP001122334402");
    await fixture.phone("SEP001122334403", { attributes: { IsRegistered: "false" } });
    const old = await fixture.phone("SEP001122334404");
    await fixture.zone("gym");
    await fixture.store.write((tx) => {
      tx.run("UPDATE devices SET failures = 2 WHERE id = ?", dead);
      tx.run("UPDATE devices SET is_licensed = 0 WHERE id = ?", old);
    });
    const names = ["1", "2", "3", "4"].map((n) => `SEP00112233440${n}`);
    const group = await fixture.group("All", [...names, "zone:gym"]);
    const input = {
      subject: "x",
      draft: true,
      alertTone: "tone",
      userIds: [ann],
      distributionListIds: [await fixture.list("L", [ann, ben])],
      deviceGroupIds: [group],
    };
    fixture.states.set("multicast-zones", "disabled");
    const row = await fixture.send(input);
    expect(row.stage).toBe("draft");
    expect(preview(row)).toMatchObject({
      recipientCount: 2,
      followUpAllowed: false,
      progress: {
        percentComplete: 0,
        preview: {
          recipientCount: 2,
          userDevices: { email: 2 },
          devices: { phones: 3 },
          notReached: [
            { reason: "The licence does not include the device.", count: 1 },
            { reason: "The plugin multicast-zones is disabled.", count: 1 },
          ],
          offline: {
            count: 2,
            devices: [
              {
                id: dead,
                name: "The SEP001122334402",
                type: "phones",
                reason: "The device did not answer the last message.",
              },
              { name: "The SEP001122334403", reason: "The device is not registered." },
            ],
          },
          soundSeconds: 1.5,
          expectedSeconds: null,
        },
      },
    });
    expect(fixture.told).toEqual([]);
    for (const resource of [deliveries, notificationRecipients]) expect(fixture.store.count(resource, {})).toBe(0);
  });

  it("estimates the duration from past broadcasts", async () => {
    const group = (await fixture.store.find(devices, {}, 1)).length > 0 ? await fixture.group("One", ["zone:gym"]) : "";
    const sent: string[] = [];
    for (const seconds of [2, 4, 30]) {
      const past = await fixture.send({ subject: "x", deviceGroupIds: [group] });
      await fixture.store.write((tx) => {
        tx.run(
          "UPDATE notifications SET stage = 'settled', programme_ms = 10000, settled_at = created_at + ? WHERE id = ?",
          10_000 + seconds * 1_000,
          past.id,
        );
      });
      sent.push(past.id);
    }
    const compared = sent.flatMap((id) => {
      const past = fixture.store.get(notifications, id);
      return past ? [expectedAndActualSeconds(past, fixture.store)] : [];
    });
    expect(compared).toEqual([
      { expectedSeconds: null, tookSeconds: 12 },
      { expectedSeconds: 12, tookSeconds: 14 },
      { expectedSeconds: 14, tookSeconds: 40 },
    ]);
    const row = await fixture.send({ subject: "x", draft: true, deviceGroupIds: [group], alertTone: "tone" });
    expect(preview(row)).toMatchObject({ progress: { preview: { soundSeconds: 1.5, expectedSeconds: 5.5 } } });
  });

  it("estimates the duration from broadcasts of similar size", async () => {
    for (const n of [1, 2, 3, 4]) await fixture.phone(`SEP00112233445${n}`);
    const one = await fixture.group("Of one", ["SEP001122334451"]);
    const four = await fixture.group(
      "Of four",
      [1, 2, 3, 4].map((n) => `SEP00112233445${n}`),
    );
    const took = async (group: string, seconds: number, devices: number): Promise<void> => {
      const past = await fixture.send({ subject: "x", deviceGroupIds: [group] });
      await fixture.store.write((tx) => {
        tx.run(
          "UPDATE notifications SET stage = 'settled', settled_at = created_at + ? WHERE id = ?",
          seconds * 1_000,
          past.id,
        );
        const pk = fixture.store.get(notifications, past.id)?.pk as number;
        incrementCounter(tx, pk, "level:playing", devices);
      });
    };
    for (const seconds of [2, 2, 2, 2, 2]) await took(one, seconds, 1);
    for (const seconds of [9, 9, 9, 9, 9]) await took(four, seconds, 100);
    const expected = async (group: string) =>
      preview(await fixture.send({ subject: "x", draft: true, deviceGroupIds: [group] }));
    expect(await expected(one)).toMatchObject({ progress: { preview: { expectedSeconds: 2 } } });
    expect(await expected(four)).toMatchObject({ progress: { preview: { expectedSeconds: 2 } } });
    for (const seconds of [5, 5, 5, 5, 5]) await took(four, seconds, 4);
    expect(await expected(four)).toMatchObject({ progress: { preview: { expectedSeconds: 5 } } });
  });
});
