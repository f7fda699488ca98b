import { describe, expect, it } from "vitest";
import { createZoneOffsetLookup, lintTimetable } from "../../../src/bells/schedule-lint-rules.ts";
import type { Timetable } from "../../../src/bells/timetables.ts";
import { derivedId } from "../../../src/lib/ids.ts";
import type { StoreReader } from "../../../src/store/store.ts";
import { createTimeZones, type TimeZone, type TimeZones } from "../../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";

const zones = createTimeZones(machineZoneData());
const NOW = Date.parse("2026-10-01T12:00:00Z");
const GROUP = ["0190aaaa-0000-7000-8000-000000000001"];
const entry = (time: string, deviceGroupIds = GROUP) => {
  return { id: `e${time}`, time, messageTemplateId: "m", deviceGroupIds, distributionListIds: [] };
};
const timetable = (timeZone: string, entries = [entry("02:30:00"), entry("08:00:00")]): Timetable => ({
  schedule: {
    ...{ id: "s", timeZone, startDate: "2026-09-01", endDate: "2027-12-31", numWeeks: 1 },
    entries: [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId: "l" })),
  },
  ringLists: [{ id: "l", entries }],
  exceptions: [],
});

/** What is planned, by day and time; no template names anybody. */
const readerOf = (planned: readonly { localDate: string; localTime: string }[]): StoreReader =>
  ({
    get: () => null,
    all: () =>
      planned.map((ring) => ({ ...ring, id: derivedId("s", `e${ring.localTime}`, ring.localDate, ring.localTime) })),
  }) as unknown as StoreReader;
const days = ["2026-10-01", "2026-10-02", "2026-10-03"];
const good = days
  .flatMap((localDate) => ["02:30:00", "08:00:00"].map((localTime) => ({ localDate, localTime })))
  .slice(2, 6);

const kindsOf = (table: Timetable, more: { zones?: TimeZones; planned?: typeof good; isStale?: boolean } = {}) =>
  lintTimetable(table, {
    ...{ reader: readerOf(more.planned ?? good), now: NOW, isStale: more.isStale ?? false },
    times: { zones: more.zones ?? zones, ownZone: () => "UTC", data: machineZoneData() },
    offsets: createZoneOffsetLookup(machineZoneData()),
  }).map(({ kind, count, first }) => `${kind} ${count} ${first}`);

/** The zones with one member that is wrong. */
const wrongZones = (wrong: (zone: TimeZone) => Partial<TimeZone>): TimeZones => ({
  of: (name) => ({ ...zones.of(name), ...wrong(zones.of(name)) }),
});

describe("schedule lint", () => {
  it.each(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll"])(
    "finds no error in %s, including DST gaps and folds",
    (zone) => {
      expect(kindsOf(timetable(zone), { isStale: true })).toEqual([]);
    },
  );

  it("detects wrong local times", () => {
    const stale = { isStale: true };
    const second = wrongZones((zone) => ({
      instantOf: (at, rules) => zone.instantOf(at, { ...rules, fold: "second" }),
    }));
    // The second of two equal times shows the same: it is no fault of the clock.
    expect(kindsOf(timetable("Europe/Berlin"), { zones: second, ...stale })).toEqual([]);
    const old = wrongZones(() => ({ offsetOfDay: () => 3_600_000 }));
    const found = kindsOf(timetable("Europe/Berlin"), { zones: old, ...stale });
    expect(found).toEqual([expect.stringMatching(/^wrong time \d{3} 02:30 on 2026-10-02$/)]);
  });

  it("compares with the stored plan unless it is dirty", () => {
    const zone = timetable("UTC");
    expect(kindsOf(zone)).toEqual([]);
    expect(kindsOf(zone, { planned: good.slice(1) })).toEqual(["not planned 1 02:30 on 2026-10-02"]);
    const odd = { localDate: "2026-10-02", localTime: "09:00:00" };
    expect(kindsOf(zone, { planned: [...good, odd] })).toEqual(["planned wrongly 1 09:00 on 2026-10-02"]);
    expect(kindsOf(zone, { planned: [], isStale: true })).toEqual([]);
  });

  it("detects duplicate rings and rings without recipients", () => {
    const lonely = timetable("UTC", [entry("08:00:00", []), entry("09:00:00")]);
    expect(kindsOf(lonely, { isStale: true })).toEqual(["no recipients 365 08:00 on 2026-10-02"]);
    const twice = timetable("UTC", [entry("08:00:00"), { ...entry("09:00:00"), id: "e08:00:00" }]);
    expect(kindsOf(twice, { isStale: true })).toEqual(["twice 365 09:00 on 2026-10-02"]);
  });
});
