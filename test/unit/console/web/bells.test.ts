import { describe, expect, it } from "vitest";
import type { BellScheduleRow } from "../../../../src/console/web/api/bell-rows.ts";
import { daysOfMonth, monthsFrom, weekOf } from "../../../../src/console/web/features/bells/calendar-dates.ts";
import { cycleDayTypes } from "../../../../src/console/web/features/bells/cycle-day-types.ts";
import { dayChangeRequest, newDayChangeDraft } from "../../../../src/console/web/features/bells/day-change-draft.ts";
import { cronOf, weeklyRuleOf } from "../../../../src/console/web/features/bells/recurrence-rule.ts";
import {
  BLOCK_PX,
  blockPositions,
  blocksOf,
  HOUR_PX,
  hourRangeOf,
  nextInstantOf,
  type ScheduleRing,
  shiftTime,
} from "../../../../src/console/web/features/bells/week-layout.ts";
import { combinedDayMarker, dayMarkerOf } from "../../../../src/console/web/features/bells/year-markers.ts";

const ring = (bellScheduleId: string, localTime: string, more: Partial<ScheduleRing> = {}): ScheduleRing => ({
  ...{ id: `${bellScheduleId} ${localTime}`, at: `2026-03-02T${localTime}.000Z`, localDate: "2026-03-02", localTime },
  ...{ ringListId: "list", entryId: localTime, messageTemplateId: "bell", state: "planned", bellScheduleId },
  ...more,
});

describe("the week of bells", () => {
  it("draws one block for the entry that several schedules ring, with the state that needs a look", () => {
    const rings = [ring("a", "08:45:00"), ring("a", "08:00:00", { state: "rung" })];
    const blocks = blocksOf([
      ...rings,
      ring("b", "08:00:00", { state: "missed" }),
      ring("c", "08:00:00", { ringListId: "x" }),
    ]);
    expect(blocks.map(({ localTime, state, rings: { length } }) => [localTime, state, length])).toEqual([
      ["08:00:00", "missed", 2],
      ["08:00:00", "planned", 1],
      ["08:45:00", "planned", 1],
    ]);
    expect(nextInstantOf(rings, Date.parse("2026-03-02T08:10:00Z"))).toBe(Date.parse("2026-03-02T08:45:00Z"));
    expect(nextInstantOf(rings, Date.parse("2026-03-02T09:00:00Z"))).toBeNull();
  });

  it("places blocks at their time, or below the one before", () => {
    const times = ["08:30:00", "08:35:00", "12:00:00"].map((localTime) => ({ localTime }));
    const hours = hourRangeOf(times);
    expect(hours).toEqual({ first: 8, end: 16 });
    expect(hourRangeOf([{ localTime: "06:10:00" }, { localTime: "21:30:00" }])).toEqual({ first: 6, end: 22 });
    expect(blockPositions(times, hours)).toEqual([HOUR_PX / 2, HOUR_PX / 2 + BLOCK_PX, 4 * HOUR_PX]);
    expect([shiftTime("08:58:30", 5), shiftTime("00:02:00", -5), shiftTime("23:58:00", 5)]).toEqual([
      ...["09:03:30", "00:00:00", "23:59:59"],
    ]);
  });

  it("knows its days, whatever the zone of the browser", () => {
    expect(weekOf("2026-03-08")).toEqual(["02", "03", "04", "05", "06", "07", "08"].map((day) => `2026-03-${day}`));
    expect(weekOf("2019-12-31")[0]).toBe("2019-12-30");
    expect(daysOfMonth("2028-02")).toHaveLength(29);
    expect(monthsFrom("2025-09-14").filter((_, at) => at % 4 === 0)).toEqual(["2025-09", "2026-01", "2026-05"]);
  });
});

const SCHEDULE = {
  ...{ startDate: "2026-03-04", endDate: "2026-06-30", numWeeks: 2 },
  bellScheduleEntries: [0, 2, 9].map((entryNum) => ({ entryNum, ringListId: entryNum === 9 ? "short" : "normal" })),
  bellScheduleExceptions: [
    { startDate: "2026-03-16", endDate: "2026-03-17", ringListId: null, description: "Fair" },
    { startDate: "2026-03-18", endDate: "2026-03-18", ringListId: "normal", dayChangeId: "change" },
    { startDate: "2026-03-19", endDate: "2026-03-19", ringListId: "short" },
  ],
} as unknown as BellScheduleRow;

describe("the year of bells", () => {
  it("marks each day by its cycle and its exceptions", () => {
    const mark = (day: string) => dayMarkerOf(SCHEDULE, `2026-03-${day}`).mark;
    expect(["03", "04", "05", "09", "11"].map(mark)).toEqual(["outside", "rings", "silent", "silent", "rings"]);
    expect(["16", "17", "18", "19", "20"].map(mark)).toEqual([
      ...["no-bells", "no-bells", "changed", "otherwise", "silent"],
    ]);
    const other = { ...SCHEDULE, bellScheduleExceptions: [] };
    expect(combinedDayMarker([other, SCHEDULE], "2026-03-16")).toEqual({ mark: "no-bells", why: "Fair" });
    expect(combinedDayMarker([], "2026-03-16")).toEqual({ mark: "outside", why: null });
  });

  it("maps days to lists", () => {
    expect(cycleDayTypes(SCHEDULE)).toEqual([
      { ringListId: "normal", weeks: [{ week: 0, days: [0, 2] }] },
      { ringListId: "short", weeks: [{ week: 1, days: [2] }] },
    ]);
  });
});

describe("a change of a day", () => {
  const draft = newDayChangeDraft("2026-03-05", []);

  it("begins with an hour later for all schedules", () => {
    const body = { kind: "delay", minutes: 60, startDate: "2026-03-05", endDate: "2026-03-05", allBellSchedules: true };
    expect(dayChangeRequest(draft)).toEqual({ isLasting: false, body });
  });

  it("is empty while incomplete", () => {
    expect(dayChangeRequest({ ...draft, minutes: 0 })).toBeNull();
    expect(dayChangeRequest({ ...draft, kind: "mute", until: "" })).toBeNull();
    expect(dayChangeRequest({ ...draft, kind: "other-day" })).toBeNull();
    expect(dayChangeRequest({ ...draft, all: false })).toBeNull();
    expect(dayChangeRequest({ ...draft, startDate: "" })).toBeNull();
  });

  it("sends what its kind asks for alone", () => {
    const chosen = {
      ...newDayChangeDraft("2026-03-05", ["a"]),
      endDate: "2026-03-06",
      from: "09:00:00",
      description: "Maths",
    };
    const shared = { startDate: "2026-03-05", endDate: "2026-03-06", description: "Maths", bellScheduleIds: ["a"] };
    expect(dayChangeRequest({ ...chosen, kind: "mute-hours" })?.body).toEqual({
      ...{ kind: "mute-hours", from: "09:00:00", until: "12:00:00", ...shared },
    });
    expect(dayChangeRequest({ ...chosen, kind: "no-bells" })?.body).toEqual({ kind: "no-bells", ...shared });
    expect(dayChangeRequest({ ...chosen, kind: "exception", ringListId: "x" })).toEqual({
      ...{ isLasting: true, body: { ringListId: "x", ...shared } },
    });
  });
});

describe("a simple rule", () => {
  it.each([
    ["0 30 7 ? * MON,TUE,WED,THU,FRI", "0 30 7 ? * MON-FRI", { time: "07:30:00", days: [0, 1, 2, 3, 4] }],
    ["15 5 18 ? * *", "15 5 18 * * ?", { time: "18:05:15", days: [0, 1, 2, 3, 4, 5, 6] }],
    ["0 0 9 ? * SAT,SUN", "0 0 9 ? * sun,sat", { time: "09:00:00", days: [5, 6] }],
  ])("is read and written: %s", (written, given, rule) => {
    expect(weeklyRuleOf(given)).toEqual(rule);
    expect(cronOf(rule)).toBe(written);
  });

  it.each(["0 0 9 1 * ?", "0 0/5 9 ? * MON", "0 0 9 ? * SAT#1", "0 0 9 ? * FRI-MON", "0 0 9 ? * MON 2031", "RRULE:x"])(
    "is not what says more: %s",
    (cron) => expect(weeklyRuleOf(cron)).toBeNull(),
  );
});
