import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { newId } from "../../../../../src/lib/ids.ts";
import { partition } from "../../../../../src/notifications/engine/stages/partition.ts";
import { prepare } from "../../../../../src/notifications/engine/stages/prepare.ts";
import { queue } from "../../../../../src/notifications/engine/stages/queue.ts";
import { resolve } from "../../../../../src/notifications/engine/stages/resolve.ts";
import {
  findPendingRecipientWrites,
  writePendingRecipients,
} from "../../../../../src/notifications/recipients/deferred-recipients.ts";
import activationGroups from "../../../../../src/resources/devices/activation-groups.ts";
import devices from "../../../../../src/resources/devices/devices.ts";
import endpoints from "../../../../../src/resources/devices/endpoints.ts";
import extensions from "../../../../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../../../../src/resources/devices/on-premises-extension.ts";
import distributionLists from "../../../../../src/resources/lists/distribution-lists.ts";
import deliveries from "../../../../../src/resources/notifications/deliveries.ts";
import notificationActivities from "../../../../../src/resources/notifications/notification-activities.ts";
import notificationRecipients from "../../../../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../../../../src/resources/notifications/notifications.ts";
import subscriptions from "../../../../../src/resources/people/subscriptions.ts";
import userDevices from "../../../../../src/resources/people/user-devices.ts";
import users from "../../../../../src/resources/people/users.ts";
import type { Store } from "../../../../../src/store/store.ts";
import { FAKE_CLOCK_START } from "../../../../support/fake-clock.ts";
import { type BroadcastFixture, openBroadcasts } from "../../notification-fixture.ts";

let fixture: BroadcastFixture;
const phones: string[] = [];
let gym: string;
let both: string;
let onlyGym: string;

beforeAll(async () => {
  fixture = await openBroadcasts();
  for (const n of [1, 2, 3]) phones.push(await fixture.phone(`SEP00112233440${n}`));
  gym = await fixture.zone("gym");
  both = await fixture.group("Both", ["SEP001122334401", "SEP001122334402", "zone:gym"]);
  onlyGym = await fixture.group("Gym", ["zone:gym"]);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.states.clear());

const recipients = (notificationId: string) => fixture.store.find(notificationRecipients, { notificationId });
const ledger = (notificationId: string) => fixture.store.find(deliveries, { notificationId });
const diary = (notificationId: string) => fixture.store.find(notificationActivities, { notificationId });
const targets = () => fixture.store.one<{ n: number }>("SELECT count(*) n FROM notification_targets")?.n;

describe("resolve", () => {
  it("finds the distinct users of lists and individual users, as of now", async () => {
    const [ann, ben, cid, dora] = [
      await fixture.user("Ann", { email: "ann@example.org" }),
      await fixture.user("Ben", { lock: { start: null, end: null } }),
      await fixture.user("Cid"),
      await fixture.user("Dora", { type: "anonymous" }),
    ];
    const a = await fixture.list("A", [ann, ben]);
    const b = await fixture.list("B", [ann, dora]);
    const subscriptionEndDate = new Date(FAKE_CLOCK_START).toISOString();
    await fixture.create(subscriptions, { userId: cid, distributionListId: a, subscriptionEndDate });
    const row = await fixture.send({ subject: "x", distributionListIds: [a, b], userIds: [ann, dora] });
    await resolve.run(row.id, fixture.needs);
    await resolve.run(row.id, fixture.needs);
    const found = recipients(row.id).map(({ name, email, type, userId, endpointId, read }) => ({
      name,
      email,
      type,
      userId,
      endpointId,
      read,
    }));
    const common = { endpointId: fixture.endpointId, read: false };
    expect(found).toEqual([
      { name: "Ann", email: "ann@example.org", type: "regular", userId: ann, ...common },
      { name: "Ben", email: null, type: "regular", userId: ben, ...common },
      { name: "Dora", email: null, type: "anonymous", userId: dora, ...common },
    ]);
    expect(fixture.store.get(notifications, row.id)?.stage).toBe("partition");
  });

  it("includes a subscription until it ends", async () => {
    const eve = await fixture.user("Eve");
    const list = await fixture.list("Ending");
    const subscriptionEndDate = new Date(FAKE_CLOCK_START + 1).toISOString();
    await fixture.create(subscriptions, { userId: eve, distributionListId: list, subscriptionEndDate });
    const row = await fixture.send({ subject: "x", distributionListIds: [list] });
    await resolve.run(row.id, fixture.needs);
    expect(recipients(row.id).map(({ userId }) => userId)).toEqual([eve]);
  });

  it("reads every list from its beginning", async () => {
    const [gus, hal] = [await fixture.user("Gus"), await fixture.user("Hal")];
    const later = await fixture.list("Later", [hal]);
    const earlier = await fixture.list("Earlier", [gus]);
    const row = await fixture.send({ subject: "x", distributionListIds: [later, earlier] });
    await resolve.run(row.id, fixture.needs);
    expect(recipients(row.id).map(({ userId }) => userId)).toEqual([hal, gus]);
  });

  it("ignores a deleted notification", async () => {
    for (const stage of [resolve, partition, prepare, queue]) {
      await stage.run("0190aaaa-0000-7000-8000-000000000000", fixture.needs);
    }
    expect(targets()).toBe(0);
  });
});

describe("queue", () => {
  it("plans one delivery per distinct device", async () => {
    const row = await fixture.send({ subject: "x", deviceGroupIds: [both, onlyGym], priority: "critical" });
    const sent = await fixture.run(row.id);
    expect(sent.stage).toBe("deliver");
    expect(ledger(row.id).map(({ createdAt: _c, updatedAt: _u, id: _i, pk: _p, ...rest }) => rest)).toMatchObject([
      { deviceId: phones[0], deviceIdentifier: "SEP001122334401", provider: "ip-phones", type: "phones" },
      { deviceId: phones[1], level: "planned", endedAt: null, attempt: 0, late: false },
      {
        deviceId: gym,
        userDeviceId: null,
        name: "The zone:gym",
        provider: "multicast-zones",
        endpointId: fixture.endpointId,
        level: "planned",
        priority: 0,
        notAfter: row.notAfter,
        plannedAt: FAKE_CLOCK_START,
      },
    ]);
    expect(targets()).toBe(0);
    expect(diary(row.id).at(-1)).toMatchObject({ type: "sending-started", details: { devices: 3 } });
  });

  it("gives the same rows when every stage is repeated after a crash", async () => {
    const row = await fixture.send({ subject: "x", deviceGroupIds: [both] });
    for (const stage of [resolve, partition, prepare, queue]) {
      await stage.run(row.id, fixture.needs);
      await stage.run(row.id, fixture.needs);
    }
    expect(ledger(row.id)).toHaveLength(3);
  });

  it("continues after a crash", async () => {
    const row = await fixture.send({ subject: "x", deviceGroupIds: [both] });
    for (const stage of [resolve, partition, prepare]) await stage.run(row.id, fixture.needs);
    const before = fixture.store.one<{ n: number }>("SELECT count(*) n FROM notification_targets")?.n;
    await queue.run(row.id, fixture.needs);
    const [kept] = ledger(row.id);
    await fixture.store.write((tx) => {
      tx.run("DELETE FROM deliveries WHERE notification_pk = ? AND pk <> ?", row.pk, kept?.pk ?? 0);
      tx.run(
        "INSERT INTO notification_targets (notification, device) SELECT ?, pk FROM devices WHERE id IN (?, ?, ?)",
        row.pk,
        phones[0] as string,
        phones[1] as string,
        gym,
      );
    });
    await queue.run(row.id, fixture.needs);
    expect(before).toBe(3);
    expect(ledger(row.id)).toHaveLength(3);
    expect(ledger(row.id)[0]).toEqual(kept);
  });

  it("gives the reason why a device is not asked", async () => {
    const extensionId = ONPREM_EXTENSION_ID;
    const elsewhere = (await fixture.create(endpoints, { extensionId, name: "There" })).id;
    const there = { endpointId: elsewhere, description: "There", type: "phones", deviceIdentifier: "SEP00112233440A" };
    await fixture.create(devices, { extensionId, ...there });
    await fixture.phone("SEP00112233440B");
    await fixture.phone("SEP00112233440C");
    await fixture.zone("yard");
    await fixture.store.write((tx) => {
      tx.run("UPDATE devices SET is_licensed = 0 WHERE device_identifier = 'SEP00112233440B'");
      tx.run("UPDATE devices SET provider = NULL WHERE device_identifier = 'SEP00112233440C'");
    });
    const names = ["SEP001122334403", "SEP00112233440A", "SEP00112233440B", "SEP00112233440C", "zone:yard"];
    const row = await fixture.send({ subject: "x", deviceGroupIds: [await fixture.group("Odd", names)] });
    fixture.states.set("multicast-zones", "disabled");
    for (const stage of [resolve, partition]) await stage.run(row.id, fixture.needs);
    await fixture.store.update(devices, phones[2] as string, { defunct: true }, fixture.by);
    for (const stage of [prepare, queue]) await stage.run(row.id, fixture.needs);
    await fixture.store.update(devices, phones[2] as string, { defunct: false }, fixture.by);
    expect(ledger(row.id).map(({ deviceIdentifier, level, reason }) => [deviceIdentifier, level, reason])).toEqual([
      ["SEP001122334403", "skipped", "The device is marked as out of use."],
      ["SEP00112233440A", "failed", "The device belongs to an appliance that is not connected."],
      ["SEP00112233440B", "skipped", "The licence does not include the device."],
      ["SEP00112233440C", "failed", "No plugin serves the device."],
      ["zone:yard", "failed", "The plugin multicast-zones is disabled."],
    ]);
    expect(ledger(row.id).every(({ endedAt }) => endedAt === FAKE_CLOCK_START)).toBe(true);
    expect(ledger(row.id)[1]?.endpointId).toBe(elsewhere);
  });

  it("ignores the licence in an emergency", async () => {
    await fixture.phone("SEP00112233440E");
    await fixture.store.write((tx) => {
      tx.run("UPDATE devices SET is_licensed = 0 WHERE device_identifier = 'SEP00112233440E'");
    });
    const deviceGroupIds = [await fixture.group("Unlicensed", ["SEP00112233440E"])];
    const levels: (string | undefined)[] = [];
    for (const priority of ["normal", "critical"]) {
      const row = await fixture.send({ subject: "x", deviceGroupIds, priority });
      for (const stage of [resolve, partition, prepare, queue]) await stage.run(row.id, fixture.needs);
      levels.push(ledger(row.id)[0]?.level);
    }
    expect(levels).toEqual(["skipped", "planned"]);
  });

  it("asks a device only where its activation group allows this appliance", async () => {
    const { endpointId } = fixture;
    const away = (await fixture.create(endpoints, { extensionId: ONPREM_EXTENSION_ID, name: "Away" })).id;
    for (const identifier of ["SEP1", "SEP2", "SEP3"]) await fixture.phone(identifier);
    const activates = (
      name: string,
      priority: number,
      endpointIds: readonly string[],
      additionIds: readonly string[],
    ) => fixture.create(activationGroups, { name, priority, endpointIds, additionIds });
    const { id: shared } = await activates("Away first", 1, [away, endpointId], ["SEP1"]);
    await activates("Away alone", 2, [away], ["SEP1", "SEP2"]);
    const groupId = await fixture.group("All", ["SEP1", "SEP2", "SEP3"]);
    const row = await fixture.send({ subject: "S", deviceGroupIds: [groupId] });
    await fixture.run(row.id);
    expect(ledger(row.id).map(({ deviceIdentifier, level, reason }) => [deviceIdentifier, level, reason])).toEqual([
      ["SEP1", "planned", null],
      ["SEP2", "failed", "None of the appliances that may activate the device can be reached."],
      ["SEP3", "planned", null],
    ]);
    // In the place of the other appliance, the devices that it has left alone.
    const standsIn = { ring: newId(), groups: [shared] };
    const held = { id: newId(), at: fixture.clock.now(), usefulMs: 30_000, description: "Bell", standsIn };
    const instead = await fixture.send({ subject: "S", deviceGroupIds: [groupId] }, { source: "bell-schedule", held });
    await fixture.run(instead.id);
    expect(ledger(instead.id).map(({ deviceIdentifier, level }) => [deviceIdentifier, level])).toEqual([
      ["SEP1", "planned"],
    ]);
  });

  it("keeps devices for a restarting plugin, and fails those of a missing one", async () => {
    fixture.states.set("multicast-zones", "restarting");
    fixture.states.set("ip-phones", "absent");
    const row = await fixture.send({ subject: "x", deviceGroupIds: [both] });
    await fixture.run(row.id);
    expect(ledger(row.id).map(({ level, reason }) => [level, reason])).toEqual([
      ["failed", "The plugin ip-phones is not installed."],
      ["failed", "The plugin ip-phones is not installed."],
      ["planned", null],
    ]);
  });

  it("assigns user devices to the plugin that serves their type", async () => {
    const userId = await fixture.user("Fay");
    await fixture.store.create(extensions, { name: "Push", type: "device", deviceType: "apns" }, fixture.by, {
      plugin: "push",
    });
    const device = (input: object) => fixture.create(userDevices, { userId, ...input });
    await device({ type: "email", deviceIdentifier: "fay@example.org" });
    await device({ type: "APNS", name: "Fay's phone", deviceIdentifier: "t1" });
    await device({ type: "SMS", deviceIdentifier: "+1", disabled: true });
    const rows = async () => {
      const row = await fixture.send({ subject: "x", userIds: [userId] });
      await fixture.run(row.id);
      return ledger(row.id).map(({ name, type, provider, level, reason, userId: owner, deviceId }) => {
        expect([owner, deviceId]).toEqual([userId, null]);
        return [name, type, provider, level, reason];
      });
    };
    const unserved = ["email", "email", null, "skipped", "No plugin serves devices of type email."];
    expect(await rows()).toEqual([unserved, ["Fay's phone", "APNS", "push", "planned", null]]);
    fixture.states.set("push", "disabled");
    expect(await rows()).toEqual([
      unserved,
      ["Fay's phone", "APNS", "push", "skipped", "The plugin push is disabled."],
    ]);
  });
});

describe("a message to very many recipients", () => {
  it("reaches every device, chunk by chunk", async () => {
    await fixture.store.write((tx) => {
      tx.run(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
         INSERT INTO devices (id, created_at, updated_at, extension_pk, endpoint_pk, device_identifier, icop_id,
           description, type, attributes, provider)
         SELECT uuid7(), 0, 0, e.extension_pk, e.pk, 'MANY' || i, 'MANY' || i, 'One of many', 'phones', '{}', 'ip-phones'
         FROM n JOIN endpoints e ON e.id = ?`,
        fixture.endpointId,
      );
    });
    const names = Array.from({ length: 450 }, (_, i) => `MANY${i + 1}`);
    const row = await fixture.send({ subject: "x", deviceGroupIds: [await fixture.group("Many", names)] });
    const sizes: number[] = [];
    const needs = { ...fixture.needs, store: measured(fixture, sizes) };
    for (const stage of [resolve, partition, prepare, queue]) await stage.run(row.id, needs);
    const made = ledger(row.id);
    expect(new Set(made.map(({ deviceIdentifier }) => deviceIdentifier))).toEqual(new Set(names));
    expect(made.every(({ endpointId, level }) => endpointId === fixture.endpointId && level === "planned")).toBe(true);
    // Two rows per target: the delivery that comes and the target that goes. The last slice ends the stage, in three rows.
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * 250 + 3);
  });

  it("asks the devices first and writes the recipients in parallel", async () => {
    const list = (await fixture.create(distributionLists, { name: "Everybody" })).id;
    await fixture.store.write((tx) => {
      const first = tx.create(users, { name: "Many" }, fixture.by);
      tx.run(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO users (id, created_at, updated_at, name, type) SELECT uuid7(), 0, 0, 'Many', 'regular' FROM n`,
      );
      tx.run(
        `INSERT INTO subscriptions (id, created_at, updated_at, user_pk, distribution_list_pk)
         SELECT uuid7(), 0, 0, pk, (SELECT pk FROM distribution_lists WHERE id = ?) FROM users WHERE name = 'Many'`,
        list,
      );
      tx.run(
        `INSERT INTO user_devices (id, created_at, updated_at, user_pk, type)
         SELECT uuid7(), 0, 0, pk, 'email' FROM users WHERE name = 'Many'`,
      );
      return first;
    });
    const row = await fixture.send({ subject: "x", distributionListIds: [list], deviceGroupIds: [both] });
    const sent = await fixture.run(row.id);
    expect([sent.stage, ledger(row.id).length, recipients(row.id).length]).toEqual(["deliver", 3, 0]);
    expect(findPendingRecipientWrites(fixture.store)).toEqual([row.id]);
    const sizes: number[] = [];
    await writePendingRecipients(row.id, { ...fixture.needs, store: measured(fixture, sizes) });
    // The first slice is the size that every slice begins with; a count goes with it.
    expect(sizes[0]).toBe(201);
    await writePendingRecipients(row.id, fixture.needs);
    expect(findPendingRecipientWrites(fixture.store)).toEqual([]);
    expect(fixture.store.count(notificationRecipients, { notificationId: row.id })).toBe(3_001);
    expect(fixture.store.count(deliveries, { notificationId: row.id, level: "skipped" })).toBe(3_001);
    expect(fixture.told.at(-1)).toEqual({ name: "deliveries.changed", payload: { notificationId: row.id } });
  });
});

/** The fixture's store, noting how many rows each transaction changes. */
function measured({ store }: BroadcastFixture, sizes: number[]): Store {
  return {
    ...store,
    write: (fn, lane) =>
      store.write((tx) => {
        const changes = () => tx.one<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0;
        const before = changes();
        const value = fn(tx);
        sizes.push(changes() - before);
        return value;
      }, lane),
  };
}
