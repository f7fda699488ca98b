import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bellScheduleHooks } from "../../../src/bells/bell-schedule-hooks.ts";
import { createRingPlans, type RingPlans } from "../../../src/bells/offline-ring-plans.ts";
import { listRings } from "../../../src/bells/ring-dto.ts";
import { areMissedRingsResolved } from "../../../src/bells/ring-repository.ts";
import { BELL_TABLES } from "../../../src/bells/schema.ts";
import { createLocalTimeContext } from "../../../src/bells/timetables.ts";
import type { DeliveryOutcome } from "../../../src/notifications/engine/delivery-providers.ts";
import { simulateDelivery } from "../../../src/notifications/engine/delivery-simulation.ts";
import bellSchedules from "../../../src/resources/bells/bell-schedules.ts";
import ringLists from "../../../src/resources/bells/ring-lists.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import notificationProfiles from "../../../src/resources/profiles/notification-profiles.ts";
import type { ResourceHooks } from "../../../src/store/store.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

const PROVIDER = "multicast-zones";
const DAY_MS = 86_400_000;
const times = createLocalTimeContext({ ownZone: () => "Etc/UTC", data: machineZoneData() });

let fixture: BroadcastFixture;
let plans: RingPlans;
let schedule: string;
let gym: string;
const outcomes: DeliveryOutcome[] = [];

beforeAll(async () => {
  fixture = await openBroadcasts({ "bell-schedules": bellScheduleHooks as unknown as ResourceHooks });
  const { store, clock, create, needs, by } = fixture;
  await store.write((tx) => {
    for (const { sql } of BELL_TABLES) for (const each of sql.split(";")) tx.run(each);
  });
  for (const name of ["gym", "yard"]) await fixture.zone(name);
  gym = await fixture.group("Gym", ["zone:gym"]);
  const bell = { name: "Bell", subject: "Bell", alertTone: "chime", deviceGroupIds: [gym] };
  const { id: messageTemplateId } = await create(messageTemplates, bell);
  const words = { name: "Words", subject: "Words", alertTone: "silent", deviceGroupIds: [gym] };
  const { id: silent } = await create(messageTemplates, words);
  const nothingElse = { deviceGroupIds: [], distributionListIds: [] };
  const entries = [
    { id: "own", time: "08:30:00", messageTemplateId, ...nothingElse },
    { id: "words", time: "09:30:00", messageTemplateId: silent, ...nothingElse },
  ];
  const { id: ringListId } = await create(ringLists, { name: "Normal day", entries });
  const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
  const span = { startDate: "2026-01-01", endDate: "2026-12-31", timeZone: "Etc/UTC", numWeeks: 1 };
  schedule = (await create(bellSchedules, { name: "Every day", ...span, bellScheduleEntries })).id;
  const notificationService = {
    simulate: (...given: ForeseeArguments) => simulateDelivery(...given, needs),
    handleOutcomes: (given: readonly DeliveryOutcome[]) => void outcomes.push(...given),
  };
  plans = createRingPlans({ store, clock, log: needs.log, times, notificationService, by });
});
afterAll(() => fixture.close());

type ForeseeArguments = Parameters<Parameters<typeof createRingPlans>[0]["notificationService"]["simulate"]>;

function told(fromMs: number, toMs: number) {
  const { store, clock } = fixture;
  const row = store.get(bellSchedules, schedule);
  if (!row) throw new Error("no schedule");
  return listRings(row, { fromMs, toMs }, { reader: store, clock, times });
}

describe("offline ring plans", () => {
  it("contain the rings of a device with their ids and sounds", async () => {
    const now = fixture.clock.now();
    const plan = await plans.planFor(PROVIDER, "zone:gym");
    const end = Math.floor(now / DAY_MS) * DAY_MS + 15 * DAY_MS;
    expect(plan?.until).toBe(end);
    const expected = (await told(now, end)).filter(({ entryId }) => entryId === "own");
    expect(plan?.rings.map(({ ringId, at }) => ({ ringId, at }))).toEqual(
      expected.map(({ id: ringId, at }) => ({ ringId, at })),
    );
    expect(plan?.rings).toHaveLength(15);
    const [first] = plan?.rings ?? [];
    expect(first).toMatchObject({ notAfter: (first?.at ?? 0) + 30_000, priority: 4, volume: "As-Is" });
    const sound = await plans.readSound(PROVIDER, first?.sound.sha256 ?? "", 0);
    expect(
      createHash("sha256")
        .update(sound ?? "")
        .digest("hex"),
    ).toBe(first?.sound.sha256);
    expect(sound).toHaveLength(first?.sound.bytes ?? 0);
    expect((sound?.length ?? 1) % 160).toBe(0);
  });

  it("are empty for other devices and null for devices of other plugins", async () => {
    expect((await plans.planFor(PROVIDER, "zone:yard"))?.rings).toEqual([]);
    expect(await plans.planFor(PROVIDER, "zone:hall")).toBeNull();
    expect(await plans.planFor("speakers", "zone:gym")).toBeNull();
    expect(await plans.readSound(PROVIDER, "0", 0)).toBeNull();
  });

  it("are rebuilt within a minute after a write", async () => {
    const { store, clock, by } = fixture;
    const silence = { startDate: "2026-01-13", endDate: "2026-01-14", ringListId: null };
    await store.update(bellSchedules, schedule, { bellScheduleExceptions: [silence] }, by);
    await clock.advance(61_000);
    expect((await plans.planFor(PROVIDER, "zone:gym"))?.rings).toHaveLength(13);
  });

  it("return large sounds in chunks", async () => {
    const [ring] = (await plans.planFor(PROVIDER, "zone:gym"))?.rings ?? [];
    const { sha256 = "", bytes = 0 } = ring?.sound ?? {};
    const piece = await plans.readSound(PROVIDER, sha256, bytes - 100);
    expect([piece?.length, (await plans.readSound(PROVIDER, sha256, bytes))?.length]).toEqual([100, 0]);
  });

  it("mark a missed ring as rung once all its devices have reported it, idempotently", async () => {
    const [ring] = (await plans.planFor(PROVIDER, "zone:gym"))?.rings ?? [];
    if (!ring) throw new Error("no ring");
    const { store, clock } = fixture;
    const day = [ring.at, ring.at + 1] as const;
    await store.write((tx) => {
      const list = tx.one<{ id: string }>("SELECT id FROM ring_lists")?.id ?? "";
      const key = Math.floor(ring.at / 1_000) * 1_000_000;
      const values = [key, ring.ringId, schedule, list, "2026-01-12", "08:30:00", ring.at];
      const sql = `INSERT INTO bell_rings (pk, id, kind, owner, ring_list, entry, local_date, local_time, at, state, open, asked, cause)
        VALUES (?, ?, 'bell', ?, ?, 'own', ?, ?, ?, 'missed', 0, 0, 'down')`;
      tx.run(sql, ...values);
    });
    await clock.advance(3_600_000);
    const isMadeUp = (): boolean =>
      areMissedRingsResolved(store, [{ fromMs: ring.at, toMs: ring.at, ringId: ring.ringId }])[0] === true;
    const settled = async (): Promise<object[]> => {
      await clock.advance(2_000);
      return told(...day);
    };
    await plans.recordOfflineRings(PROVIDER, "zone:yard", [ring]);
    expect(await settled()).toMatchObject([{ id: ring.ringId, state: "missed", playedAlone: 1 }]);
    expect(isMadeUp()).toBe(false);
    for (let time = 0; time < 2; time++) await plans.recordOfflineRings(PROVIDER, "zone:gym", [ring]);
    expect(await settled()).toMatchObject([{ id: ring.ringId, state: "rung", playedAlone: 2 }]);
    expect(isMadeUp()).toBe(true);
    await expect(plans.recordOfflineRings("speakers", "zone:gym", [ring])).rejects.toThrow("the plugin has no device");
    await plans.recordOfflineRings(PROVIDER, "zone:gym", [{ ringId: ring.ringId, at: ring.at + 90 * DAY_MS }]);
    expect(store.all("SELECT * FROM bell_offline_rings")).toHaveLength(2);
    expect(outcomes).toEqual([]);
  });

  it("record an offline ring on the delivery of its notification", async () => {
    const { store, clock } = fixture;
    const row = await fixture.send({ subject: "Bell", alertTone: "chime", deviceGroupIds: [gym] });
    await fixture.run(row.id);
    await plans.recordOfflineRings(PROVIDER, "zone:gym", [{ ringId: row.id, at: clock.now() }]);
    const { pk } = store.one<{ pk: number }>("SELECT pk FROM deliveries WHERE notification_pk = ?", row.pk) ?? {};
    expect(outcomes).toMatchObject([
      { provider: PROVIDER, deliveryId: pk, level: "playing", isAutonomous: true, isLast: true },
    ]);
  });

  it("contain only the ring with precedence of two at one instant", async () => {
    const { create, clock } = fixture;
    const settings = [{ id: ONPREM_EXTENSION_ID, disabled: false, value: { priority: 1 } }];
    const { id: notificationProfileId } = await create(notificationProfiles, { name: "Urgent", settings });
    const bell = { name: "Urgent", subject: "U", alertTone: "tone", deviceGroupIds: [gym], notificationProfileId };
    const { id: messageTemplateId } = await create(messageTemplates, bell);
    const entry = { id: "own", time: "08:30:00", messageTemplateId, deviceGroupIds: [], distributionListIds: [] };
    const before = (await plans.planFor(PROVIDER, "zone:gym"))?.rings ?? [];
    const { id: ringListId } = await create(ringLists, { name: "Urgent", entries: [entry] });
    const bellScheduleEntries = [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId }));
    const span = { startDate: "2026-01-01", endDate: "2026-12-31", timeZone: "Etc/UTC", numWeeks: 1 };
    await create(bellSchedules, { name: "Urgent", ...span, bellScheduleEntries });
    await clock.advance(61_000);
    const after = (await plans.planFor(PROVIDER, "zone:gym"))?.rings ?? [];
    expect(before.length).toBeGreaterThan(0);
    expect(new Set(after.map(({ at }) => at)).size).toBe(after.length);
    const sounds = new Set(after.map(({ sound }) => sound.sha256));
    expect([sounds.size, before.some(({ sound }) => sounds.has(sound.sha256))]).toEqual([1, false]);
  });

  it("report outdated plans as a health reason until they are refreshed", () => {
    plans.setOutdatedDevices("speakers", ["agent:02005E100001"]);
    expect(plans.healthSource()).toMatchObject([
      { level: "yellow", reason: expect.stringContaining("agent:02005E100001") },
    ]);
    plans.setOutdatedDevices("speakers", []);
    expect(plans.healthSource()).toEqual([]);
  });
});
