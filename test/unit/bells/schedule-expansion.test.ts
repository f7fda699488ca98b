import { describe, expect, it } from "vitest";
import { compileSchedule, type RingSchedule, type ScheduleException } from "../../../src/bells/schedule-expansion.ts";
import { createTimeZones } from "../../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";

const zones = createTimeZones(machineZoneData());
/** A Monday. */
const FIRST = "2026-03-02";
const DAY_MS = 86_400_000;
/** A, B and C on Monday to Wednesday. */
const SCHEDULE = {
  ...{ id: "s", timeZone: "Europe/Berlin", startDate: FIRST, endDate: "2026-04-30", numWeeks: 1 },
  entries: ["A", "B", "C"].map((ringListId, entryNum) => ({ entryNum, ringListId })),
} as unknown as RingSchedule;
const LISTS = ["A", "B", "C", "X"].map((id) => ({ id, entries: [] }));

/** Ring lists of the first `days` days, `-` where nothing rings. */
function listsOf(schedule: RingSchedule, exceptions: readonly [string, string, string | null][], days = 14): string {
  const given = exceptions.map(
    ([startDate, endDate, ringListId]): ScheduleException => ({ startDate, endDate, ringListId, ringListChanges: [] }),
  );
  const compiled = compileSchedule(schedule, LISTS, given, { zones });
  const first = Date.parse(FIRST) / DAY_MS;
  return Array.from({ length: days }, (_, at) => compiled.listOn(first + at)?.ringListId ?? "-").join("");
}

describe("the rotation of a schedule", () => {
  const bySchoolDay = { ...SCHEDULE, rotation: "school-day" } as RingSchedule;

  it("repeats the cycle by weeks", () => {
    expect(listsOf(SCHEDULE, [])).toBe("ABC----ABC----");
    expect(listsOf({ ...SCHEDULE, rotation: "calendar" } as RingSchedule, [["2026-03-03", "2026-03-03", null]])).toBe(
      "A-C----ABC----",
    );
  });

  it("continues by school days after a silenced day", () => {
    expect(listsOf(bySchoolDay, [])).toBe("ABC----ABC----");
    expect(listsOf(bySchoolDay, [["2026-03-03", "2026-03-03", null]])).toBe("A-B----CAB----");
    expect(listsOf(bySchoolDay, [["2026-03-03", "2026-03-04", null]])).toBe("A------BCA----");
  });

  it("counts neither days without rings nor days with another list as silenced", () => {
    expect(listsOf(bySchoolDay, [["2026-03-05", "2026-03-08", null]])).toBe("ABC----ABC----");
    expect(listsOf(bySchoolDay, [["2026-03-03", "2026-03-03", "X"]])).toBe("AXC----ABC----");
  });

  it("applies the last exception of a day", () => {
    const silence: [string, string, null] = ["2026-03-03", "2026-03-03", null];
    const replace: [string, string, string] = ["2026-03-03", "2026-03-03", "X"];
    expect(listsOf(bySchoolDay, [silence, replace])).toBe("AXC----ABC----");
    expect(listsOf(bySchoolDay, [replace, silence])).toBe("A-B----CAB----");
  });
});
