import rrule from "rrule";
import { describe, expect, it } from "vitest";
import { parseRecurrence } from "../../../src/bells/recurrence.ts";
import { compileRuleDays, type ParsedRule } from "../../../src/bells/rule-days.ts";

function daysOf(rule: string, start = "20310901T080000Z") {
  const options = rrule.RRule.parseString(`DTSTART:${start}\nRRULE:${rule}`);
  return compileRuleDays(new rrule.RRule(options).options as ParsedRule);
}

describe("the days of a rule", () => {
  it.each([
    "FREQ=DAILY",
    "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
    "FREQ=WEEKLY;BYDAY=MO,WE,FR;INTERVAL=2",
    "FREQ=MONTHLY;BYDAY=-1FR",
    "FREQ=MONTHLY;BYMONTHDAY=-31",
    "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=SA",
    "FREQ=YEARLY;BYYEARDAY=366",
    "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO",
  ])("exist for %s", (rule) => expect(daysOf(rule)).not.toBeNull());

  it.each([
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    // 2031-09-01 is a Monday.
    "FREQ=DAILY;INTERVAL=7;BYDAY=TU",
    "FREQ=DAILY;BYSETPOS=2",
    "FREQ=MONTHLY;INTERVAL=12;BYMONTH=2",
    "FREQ=MONTHLY;BYDAY=6MO",
    "FREQ=WEEKLY;BYMONTH=2;BYMONTHDAY=-30",
    "FREQ=YEARLY;BYMONTH=4;BYMONTHDAY=31",
    "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=YEARLY;BYMONTH=7;BYWEEKNO=1",
    "FREQ=YEARLY;BYYEARDAY=1;BYMONTH=2",
  ])("do not exist for %s", (rule) => expect(daysOf(rule)).toBeNull());

  it("follow the start date of a rule that names no day", () => {
    expect(daysOf("FREQ=MONTHLY;BYMONTH=2", "20310131T080000Z")).toBeNull();
    expect(daysOf("FREQ=MONTHLY", "20310131T080000Z")).not.toBeNull();
  });
});

describe("rules", () => {
  const starts = ["20000101T080000", "20240229T233000", "20241230T000000", "20231231T120000"];
  const parts = [
    ...["", ";INTERVAL=2", ";INTERVAL=3;COUNT=7", ";UNTIL=20270315T080000", ";COUNT=40", ";WKST=SU;INTERVAL=2"],
    ...[";BYHOUR=7,13;BYMINUTE=15,45", ";BYMONTH=1,6,12"],
  ];
  const frequencies = [
    ...["DAILY", "WEEKLY", "WEEKLY;BYDAY=MO,SU", "MONTHLY", "MONTHLY;BYMONTHDAY=31,-1", "MONTHLY;BYDAY=2TU,-1FR"],
    ...["MONTHLY;BYDAY=MO,TU,WE;BYSETPOS=-1,2", "YEARLY", "YEARLY;BYYEARDAY=1,-1,200", "YEARLY;BYDAY=20MO,-1SU"],
    ...["YEARLY;BYMONTH=3;BYDAY=-1SU", "YEARLY;BYWEEKNO=1,53,-1;BYDAY=MO,SU", "YEARLY;BYWEEKNO=20", "DAILY;BYDAY=SA"],
  ];
  const cases = starts.flatMap((start) =>
    frequencies.flatMap((frequency) =>
      parts
        // Refused here: positions among several times; weeks of the year in some months; the 20th Monday of a month.
        .filter((part) => !(frequency.includes("SETPOS") && part.includes("BYHOUR")))
        .filter((part) => !(frequency.includes("WEEKNO") && /BYMONTH/.test(part)))
        .filter((part) => !(frequency.includes("20MO") && part.includes("BYMONTH")))
        .filter((part) => !(frequency.includes("BYMONTH=") && part.includes("BYMONTH=")))
        .map((part) => [start, `FREQ=${frequency}${part}`] as const),
    ),
  );

  it("have the same times as rrule", () => {
    const [from, to] = [Date.UTC(2026, 5, 1), Date.UTC(2029, 1, 1)];
    const differences = cases.flatMap(([start, rule]) => {
      const ours = parseRecurrence(`DTSTART:${start}\nRRULE:${rule}`);
      const set = rrule.rrulestr(`DTSTART:${start}Z\nRRULE:${rule.replace("T080000", "T080000Z")}`);
      const theirs = set.between(new Date(from), new Date(to - 1), true).map((date) => date.getTime());
      if (typeof ours === "string") return theirs.length > 0 ? [`${start} ${rule}: ${ours}`] : [];
      const found = ours.between(from, to);
      // Asked in other windows the count must stay.
      const pieces = [0, 1, 2, 3].flatMap((at) => {
        const step = (to - from) / 4;
        return ours.between(from + at * step, from + (at + 1) * step);
      });
      if (pieces.join() !== found.join()) return [`${start} ${rule}: windows differ`];
      return found.join() === theirs.join() ? [] : [`${start} ${rule}: ${found.length} instead of ${theirs.length}`];
    });
    expect(differences).toEqual([]);
    expect(cases.length).toBeGreaterThan(300);
  }, 60_000);
});
