import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFailed } from "vitest";
import { type BroadcastHarness, type DeliveryLine, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { eventually } from "../support/timeouts.ts";

const PHONES = 60;
const ZONES = 3;
const SECONDS = 20;
const WHOLE = SECONDS * 50;

let scene: BroadcastHarness;
beforeAll(async () => {
  scene = await startBroadcastHarness({ phones: PHONES, zones: ZONES }, 200);
}, 180_000);
afterAll(() => scene.end());
beforeEach(async () => {
  onTestFailed(() => console.error(scene.log()));
  await scene.campus.reset();
});

const allPlay = (id: string) =>
  eventually(async () => (await scene.deliveries(id)).filter(({ level }) => level === "playing").length === PHONES);
const levelsOf = (rows: readonly DeliveryLine[]) =>
  [...new Set(rows.map(({ type, level }) => `${type} ${level}`))].sort();
const at = (time: string | null | undefined): number => (time ? Date.parse(time) : Number.NaN);

describe("an emergency during a routine message", { timeout: 180_000 }, () => {
  it("takes every phone and zone, and the rows of the routine message say so", async () => {
    const routine = await scene.send("Lunch", SECONDS);
    await allPlay(routine);
    const sentAt = Date.now();
    const emergency = await scene.send("Fire", 4, { priority: "critical" });
    const loud = await scene.waitUntilFinished(emergency);
    const cut = await scene.waitUntilFinished(routine);

    expect(levelsOf(loud)).toEqual(["phones playing", "speakers sent"]);
    expect(levelsOf(cut)).toEqual(["phones playing", "speakers sent"]);
    expect([...new Set(cut.map(({ reason }) => reason))]).toEqual(["A more urgent message took over the device."]);
    const taken = new Map(loud.map((row) => [row.deviceIdentifier, row]));
    for (const row of cut.filter(({ type }) => type === "phones")) {
      const later = taken.get(row.deviceIdentifier);
      // First the device is given up, then it accepts the emergency: nobody hears both.
      expect(at(row.endedAt)).toBeGreaterThanOrEqual(sentAt);
      expect(at(row.endedAt)).toBeLessThanOrEqual(at(later?.acceptedAt));
      expect(at(later?.acceptedAt)).toBeLessThanOrEqual(at(later?.playingAt));
    }
    const report = await scene.simulatorReport(emergency);
    expect(report.summary).toMatchObject({ listeners: PHONES + ZONES, exact: PHONES + ZONES });
    for (const { joinedAt, earlier } of report.phones) {
      expect(earlier).toHaveLength(1);
      expect(earlier[0]?.leftAt).toBeLessThanOrEqual(joinedAt ?? Number.NaN);
      expect(earlier[0]?.packets).toBeLessThan(WHOLE);
    }
  });
});

describe("a message that is aborted while it sounds", { timeout: 180_000 }, () => {
  it("falls silent everywhere, and its rows end in words", async () => {
    const id = await scene.send("Never mind", SECONDS);
    await allPlay(id);
    await scene.api().post(`/notifications/${id}/activities`, { type: "abort" });
    const abortedAt = Date.now();
    await eventually(async () => (await scene.campus.report()).phones.every(({ leftAt }) => leftAt !== null));
    const rows = await scene.waitUntilFinished(id);

    expect(levelsOf(rows)).toEqual(["phones playing", "speakers sent"]);
    expect([...new Set(rows.map(({ reason }) => reason))]).toEqual(["The message was ended by a user."]);
    for (const { endedAt } of rows) expect(at(endedAt)).toBeLessThanOrEqual(abortedAt);
    const report = await scene.simulatorReport(id);
    // What did sound was right, and far from the whole.
    const heard = [...report.phones, ...report.zones];
    expect(heard.filter(({ exact }) => exact !== true)).toEqual([]);
    expect(Math.max(...heard.map(({ packets }) => packets))).toBeLessThan(0.9 * WHOLE);
    expect(report.phones.filter(({ pages }) => pages.at(-1)?.clearedAt === null)).toEqual([]);
    expect((await scene.activityLog(id)).map(({ type }) => type)).toContain("abort");
  });
});
