import rrule from "rrule";
import { describe, expect, it } from "vitest";
import { hasMatchingDay } from "../../../src/bells/recurrence-validation.ts";

function names(rule: string, start = "20310901T080000Z"): boolean {
  const options = rrule.RRule.parseString(`DTSTART:${start}\nRRULE:${rule}`);
  return hasMatchingDay(new rrule.RRule(options).options);
}

describe("a rule names days that come", () => {
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
  ])("%s", (rule) => expect(names(rule)).toBe(true));

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
  ])("not %s", (rule) => expect(names(rule)).toBe(false));

  it("takes the day of its beginning where it names none", () => {
    expect(names("FREQ=MONTHLY;BYMONTH=2", "20310131T080000Z")).toBe(false);
    expect(names("FREQ=MONTHLY", "20310131T080000Z")).toBe(true);
  });
});
