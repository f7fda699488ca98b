import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { derivedId } from "../../../../src/lib/ids.ts";
import { asGiven } from "../../../../src/lib/sentences/sentences.ts";
import type { DeviceFilters, FilterOutcome } from "../../../../src/notifications/engine/delivery-providers.ts";
import { writePendingRecipients } from "../../../../src/notifications/recipients/deferred-recipients.ts";
import type { DeviceFilterRequest } from "../../../../src/plugin-api/index.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import userDevices from "../../../../src/resources/people/user-devices.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let fixture: BroadcastFixture;
let extensionId: string;
let requests: DeviceFilterRequest[];
beforeEach(async () => {
  requests = [];
  fixture = await openBroadcasts();
  const row = { name: "presence", type: "device-filter", failureCode: "info" };
  extensionId = derivedId("extension", "presence");
  await fixture.store.create(extensions, row, fixture.by, { id: extensionId, plugin: "presence" });
  await fixture.store.create(extensions, { name: "email", type: "device", deviceType: "email" }, fixture.by, {
    plugin: "email",
  });
});
afterEach(() => fixture.close());

/** Filters of these names, of which each answers so. */
function filtersWith(
  answer: (request: DeviceFilterRequest, name: string) => FilterOutcome | Promise<FilterOutcome>,
  names: readonly string[] = ["presence"],
): DeviceFilters {
  return {
    names: () => names,
    async ask(name, request) {
      requests.push(request);
      return answer(request, name);
    },
  };
}

const byIdentifier =
  (...identifiers: string[]) =>
  ({ candidates }: DeviceFilterRequest): FilterOutcome => ({
    excluded: candidates.filter((each) => identifiers.includes(each.deviceIdentifier)).map(({ id }) => id),
    reason: "off duty",
  });

async function school(): Promise<Record<string, unknown>> {
  await fixture.phone("SEP1");
  await fixture.phone("SEP2");
  const eve = await fixture.user("Eve", { email: "eve@example.org" });
  await fixture.create(userDevices, { userId: eve, type: "email", deviceIdentifier: "eve@example.org" });
  return { subject: "Snow day", deviceGroupIds: [await fixture.group("All", ["SEP1", "SEP2"])], userIds: [eve] };
}

const ledger = (pk: number) =>
  Object.fromEntries(
    fixture.store
      .all<{ id: string; level: string; reason: string | null; ended: number }>(
        "SELECT device_identifier AS id, level, reason, ended_at IS NOT NULL AS ended FROM deliveries WHERE notification_pk = ?",
        pk,
      )
      .map(({ id, level, reason, ended }) => [id, `${level} ${ended}${reason === null ? "" : ` ${reason}`}`]),
  );

const remarks = (notificationId: string) =>
  fixture.store.find(notificationActivities, { notificationId, type: "info" }).map(({ details }) => details);

describe("a filter", () => {
  it("leaves out devices of places and of people, with its reason", async () => {
    fixture.needs.filters = filtersWith(byIdentifier("SEP2", "eve@example.org"));
    const sent = await fixture.send(await school());
    const row = await fixture.run(sent.id);
    expect(row.stage).toBe("deliver");
    expect(ledger(row.pk)).toEqual({
      SEP1: "planned 0",
      SEP2: "skipped 1 Left out by presence: off duty",
      "eve@example.org": "skipped 1 Left out by presence: off duty",
    });
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ notificationId: row.id, subject: "Snow day", priority: 5, drill: false });
    const person = requests[0]?.candidates.find(({ type }) => type === "email");
    expect(person).toMatchObject({ deviceIdentifier: "eve@example.org", userId: row.userIds[0] });
    expect(remarks(row.id)).toEqual([]);
  });

  it("is not asked about an emergency", async () => {
    fixture.needs.filters = filtersWith(byIdentifier("SEP1", "SEP2"));
    const row = await fixture.run((await fixture.send({ ...(await school()), priority: "critical" })).id);
    expect(requests).toEqual([]);
    expect(Object.values(ledger(row.pk))).toEqual(["planned 0", "planned 0", "planned 0"]);
  });

  it("leaves out nothing when it fails, and says so once in the activity log", async () => {
    fixture.needs.filters = filtersWith(() => ({ problem: asGiven("connection refused") }));
    const row = await fixture.run((await fixture.send(await school())).id);
    expect(row.stage).toBe("deliver");
    expect(Object.values(ledger(row.pk))).toEqual(["planned 0", "planned 0", "planned 0"]);
    expect(remarks(row.id)).toEqual([{ extensionId, reason: "connection refused" }]);
  });

  it("leaves out nothing when it does not answer within 2 s", async () => {
    fixture.needs.filters = filtersWith(() => new Promise(() => undefined));
    const { id } = await fixture.send(await school());
    const running = fixture.run(id);
    await expect.poll(() => requests.length).toBe(1);
    await fixture.clock.advance(1_999);
    expect(remarks(id)).toEqual([]);
    await fixture.clock.advance(1);
    const row = await running;
    expect(Object.values(ledger(row.pk))).toEqual(["planned 0", "planned 0", "planned 0"]);
    expect(remarks(id)).toEqual([{ extensionId, reason: "No answer within 2 s." }]);
  });

  it("leaves out nothing when a later request of the message fails", async () => {
    const identifiers = Array.from({ length: 2_001 }, (_, at) => `SEP${at}`);
    for (const identifier of identifiers) await fixture.phone(identifier);
    const deviceGroupIds = [await fixture.group("All", identifiers)];
    fixture.needs.filters = filtersWith(({ candidates }) =>
      candidates.length > 1 ? { excluded: candidates.map(({ id }) => id) } : { problem: asGiven("HTTP 500") },
    );
    const row = await fixture.run((await fixture.send({ subject: "Hi", deviceGroupIds })).id);
    expect(requests.map(({ candidates }) => candidates.length)).toEqual([2_000, 1]);
    expect(new Set(Object.values(ledger(row.pk)))).toEqual(new Set(["planned 0"]));
  }, 60_000);

  it("narrows with others, of which one fails, and ignores ids that it was not asked about", async () => {
    fixture.needs.filters = filtersWith(
      (request, name) => {
        if (name === "broken") return { problem: asGiven("no") };
        const found = byIdentifier(name === "one" ? "SEP1" : "SEP2")(request) as { excluded: string[] };
        return { excluded: [...found.excluded, "0190b7c2-7f3a-7000-8000-000000000001"] };
      },
      ["one", "two", "broken"],
    );
    const row = await fixture.run((await fixture.send(await school())).id);
    expect(ledger(row.pk)).toEqual({
      SEP1: "skipped 1 Left out by one.",
      SEP2: "skipped 1 Left out by two.",
      "eve@example.org": "planned 0",
    });
  });

  it("narrows people whose devices are written while phones already ring, and no phones then", async () => {
    fixture.needs.filters = filtersWith(byIdentifier("SEP1", "eve@example.org"));
    const filters = fixture.needs.filters;
    const row = await fixture.run((await fixture.send(await school())).id);
    await fixture.store.write((tx) => {
      tx.run("DELETE FROM deliveries WHERE user_device_pk IS NOT NULL");
      tx.run("UPDATE deliveries SET level = 'planned', ended_at = NULL, reason = NULL");
      tx.run("INSERT INTO notification_pending_recipients (notification) VALUES (?)", row.pk);
    });
    await writePendingRecipients(row.id, { ...fixture.needs, filters });
    expect(ledger(row.pk)).toEqual({
      SEP1: "planned 0",
      SEP2: "planned 0",
      "eve@example.org": "skipped 1 Left out by presence: off duty",
    });
  });
});
