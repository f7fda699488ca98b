import { describe, expect, it } from "vitest";
import { decodeCalendar } from "../../../src/bells/calendar-encoding.ts";
import { parseHolidays } from "../../../src/bells/holidays.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createTimeZones } from "../../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";

const zones = createTimeZones(machineZoneData());
const YEAR = { startDate: "2026-08-01", endDate: "2027-07-31" };

/** Lines of one event, separated by spaces here; `|` separates events. */
function calendarOf(events: string, lineEnd = "\r\n"): string {
  const body = events
    .split("|")
    .flatMap((event) => ["BEGIN:VEVENT", "UID:1@example.org", ...event.trim().split(/\s+/), "END:VEVENT"]);
  return ["BEGIN:VCALENDAR", "VERSION:2.0", ...body, "END:VCALENDAR", ""].join(lineEnd);
}

/** Days as `12-01`, spans as `12-23..12-26`, then what is rejected; of an error its message. */
async function daysOf(text: string, timeZone: string): Promise<string> {
  try {
    const { holidays, rejected } = await parseHolidays(text, YEAR, systemClock, { zones, timeZone });
    const short = ({ startDate, endDate }: { startDate: string; endDate: string }): string =>
      startDate === endDate ? startDate.slice(5) : `${startDate.slice(5)}..${endDate.slice(5)}`;
    const errors = rejected.map(({ number, message }) => `Event ${number}: ${message}`);
    return [holidays.map(short).join(" "), ...errors].join("; ");
  } catch (error) {
    return (error as Error).message.replace("Field calendar is not valid. ", "");
  }
}

const INVALID_RULE = "Event 1: Invalid recurrence rule; must follow RFC 5545.";

type Case = readonly [events: string, timeZone: string, days: string];
const BERLIN = "Europe/Berlin";
const NEW_YORK = "America/New_York";
const AUCKLAND = "Pacific/Auckland";

const KINDS: Readonly<Record<string, readonly Case[]>> = {
  "an end in UTC": [
    ["DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=DAILY;UNTIL=20261203T070000Z", BERLIN, "12-01..12-03"],
    ["DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=DAILY;UNTIL=20261203T065959Z", BERLIN, "12-01..12-02"],
    ["DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=DAILY;UNTIL=20261203T070000Z", NEW_YORK, "12-01..12-03"],
    ["DTSTART;TZID=America/New_York:20261201T193000 RRULE:FREQ=DAILY;UNTIL=20261204T003000Z", NEW_YORK, "12-01..12-03"],
    ["DTSTART;TZID=America/New_York:20261201T193000 RRULE:FREQ=DAILY;UNTIL=20261204T002900Z", NEW_YORK, "12-01..12-02"],
    ["DTSTART;TZID=Pacific/Auckland:20261201T080000 RRULE:FREQ=DAILY;UNTIL=20261202T190000Z", AUCKLAND, "12-01..12-03"],
    ["DTSTART:20261201T080000 RRULE:FREQ=DAILY;UNTIL=20261203T070000Z", BERLIN, "12-01..12-03"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY;UNTIL=20261203", BERLIN, "12-01..12-03"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY;UNTIL=20261202T230000Z", BERLIN, "12-01..12-03"],
    ["DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=DAILY;UNTIL=20261203", BERLIN, "12-01..12-03"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:COUNT=3;FREQ=DAILY;", BERLIN, "12-01..12-03"],
    // Of an all-day event the first and the last second of a day in UTC mean that day.
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY;UNTIL=20261203T000000Z", NEW_YORK, "12-01..12-03"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY;UNTIL=20261203T235959Z", BERLIN, "12-01..12-03"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:UNTIL=20261203T000000Z;FREQ=DAILY", AUCKLAND, "12-01..12-03"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY;UNTIL=20261203T050000Z", NEW_YORK, "12-01..12-03"],
    ["DTSTART;TZID=Europe/Berlin:20270327T080000 RRULE:FREQ=DAILY;UNTIL=20270329T060000Z", BERLIN, "03-27..03-29"],
  ],
  "an excluded day in UTC": [
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261208T050000Z", NEW_YORK, "12-01 12-15"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261208T050000Z", BERLIN, "12-01 12-15"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261207T230000Z", BERLIN, "12-01 12-15"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261207T110000Z", AUCKLAND, "12-01 12-15"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261208T000000Z", NEW_YORK, "12-01 12-15"],
    [
      "DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261201T000000Z,20261208T000000Z",
      NEW_YORK,
      "12-15",
    ],
    [
      "DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID:20261208T000000Z DTSTART:20261209 STATUS:CANCELLED",
      NEW_YORK,
      "12-01 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261208T070000Z",
      BERLIN,
      "12-01 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261208T080000Z",
      BERLIN,
      "12-01 12-08 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE;VALUE=DATE:20261208",
      BERLIN,
      "12-01 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE;TZID=America/New_York:20261208T020000",
      BERLIN,
      "12-01 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=DAILY;COUNT=4 EXDATE:20261202T070000Z,20261203T070000Z",
      BERLIN,
      "12-01 12-04",
    ],
    ["DTSTART:20261201T070000Z RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261208T070000Z", BERLIN, "12-01 12-15"],
    [
      "DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261299T050000Z",
      BERLIN,
      "Event 1: EXDATE is not a valid date.",
    ],
  ],
  "whole days in UTC": [
    ["DTSTART:20261126T050000Z DTEND:20261127T050000Z", NEW_YORK, "11-26"],
    ["DTSTART:20261126T050000Z DTEND:20261127T050000Z", BERLIN, "11-26..11-27"],
    ["DTSTART:20261125T230000Z DTEND:20261126T230000Z", BERLIN, "11-26"],
    ["DTSTART:20261125T230000Z DURATION:P1D", BERLIN, "11-26"],
    ["DTSTART:20261125T110000Z DTEND:20261126T110000Z", AUCKLAND, "11-26"],
    ["DTSTART:20261223T050000Z DTEND:20270102T050000Z", NEW_YORK, "12-23..01-01"],
    ["DTSTART:20270314T050000Z DTEND:20270315T040000Z", NEW_YORK, "03-14"],
    ["DTSTART:20261101T040000Z DTEND:20261102T050000Z", NEW_YORK, "11-01"],
    ["DTSTART:20261126T050000Z DTEND:20261127T050000Z RRULE:FREQ=DAILY;COUNT=2", NEW_YORK, "11-26..11-27"],
    [
      "DTSTART:20261126T050000Z DTEND:20261127T050000Z RRULE:FREQ=WEEKLY;UNTIL=20261203T050000Z",
      NEW_YORK,
      "11-26 12-03",
    ],
    ["DTSTART;TZID=America/New_York:20261126T000000 DTEND;TZID=America/New_York:20261127T000000", BERLIN, "11-26"],
  ],
  "a date without VALUE=DATE": [
    ["DTSTART:20261223 DTEND:20261224", BERLIN, "12-23"],
    ["DTSTART:20261223", BERLIN, "12-23"],
    ["DTSTART:20261223 DTEND:20261226", NEW_YORK, "12-23..12-25"],
    ["DTSTART:20261223 DURATION:P2D", BERLIN, "12-23..12-24"],
    ["DTSTART:20261223 DURATION:P1W", BERLIN, "12-23..12-29"],
    ["DTSTART:20261201 RRULE:FREQ=WEEKLY;COUNT=3 EXDATE:20261208", BERLIN, "12-01 12-15"],
    ["DTSTART:20261201 RRULE:FREQ=DAILY;UNTIL=20261203", BERLIN, "12-01..12-03"],
    ["DTSTART:20261201 RDATE:20261210,20261212", BERLIN, "12-01 12-10 12-12"],
    ["DTSTART;TZID=Europe/Berlin:20261223 DTEND;TZID=Europe/Berlin:20261224", BERLIN, "12-23"],
    ['DTSTART;X-NAME="a:b":20261223', BERLIN, "12-23"],
    [
      "DTSTART:20261201 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID:20261208 DTSTART:20261209",
      BERLIN,
      "12-01 12-09 12-15",
    ],
  ],
  "a date that does not exist": [
    ["DTSTART;VALUE=DATE:20261340 SUMMARY:Slip", BERLIN, "Event 1 (Slip): DTSTART is not a valid date."],
    ["DTSTART;VALUE=DATE:20261301", BERLIN, "Event 1: DTSTART is not a valid date."],
    ["DTSTART;VALUE=DATE:20261200", BERLIN, "Event 1: DTSTART is not a valid date."],
    ["DTSTART;VALUE=DATE:20270229", BERLIN, "Event 1: DTSTART is not a valid date."],
    ["DTSTART:20261201T250000", BERLIN, "Event 1: DTSTART is not a valid date."],
    ["DTSTART:2026-12-1", BERLIN, "Event 1: DTSTART is not a valid date."],
    ["DTSTART:2026-13-01", BERLIN, "Event 1: DTSTART is not a valid date."],
    ["DTSTART:", BERLIN, "Event 1: DTSTART is not a valid date."],
    [
      "DTSTART;VALUE=DATE:20261201 | DTSTART;VALUE=DATE:20261202 DTEND;VALUE=DATE:20261232",
      BERLIN,
      "12-01; Event 2: DTEND is not a valid date.",
    ],
    [
      "DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY;UNTIL=20261340",
      BERLIN,
      "Event 1: Invalid recurrence rule; must follow RFC 5545.",
    ],
    ["DTSTART;VALUE=DATE:20261201 RDATE;VALUE=DATE:20261340", BERLIN, "Event 1: RDATE is not a valid date."],
    [
      "DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY;COUNT=2 | RECURRENCE-ID:2026 DTSTART:20261202",
      BERLIN,
      "12-01..12-02; Event 2: RECURRENCE-ID is not a valid date.",
    ],
    [
      "DTSTART;VALUE=DATE:20261340 | DTSTART:20261201 | DURATION:P1D | DTSTART:20261203",
      BERLIN,
      "12-01 12-03; Event 1: DTSTART is not a valid date.; Event 3: Each event must have a DTSTART.",
    ],
    [
      "DTSTART:20261201 | DTSTART:20261203 DURATION:P9999W",
      BERLIN,
      "12-01; Event 2: Must not last longer than 3660 days.",
    ],
    ["DTSTART:20261201 | DTSTART:20261203 DURATION:1 day", BERLIN, "12-01; Event 2: DURATION is not valid."],
    [
      "DTSTART:20261201 | DTSTART:20261203 RRULE:FREQ=SECONDLY",
      BERLIN,
      "12-01; Event 2: FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY.",
    ],
    [
      "DTSTART:20261201 | DTSTART:20261203 RRULE:",
      BERLIN,
      "12-01; Event 2: FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY.",
    ],
    [
      "DTSTART:20261201 | DTSTART:20261203 RRULE:FREQ=DAILY;COUNT=2 EXDATE:20261340",
      BERLIN,
      "12-01; Event 2: EXDATE is not a valid date.",
    ],
    [
      "DTSTART:20261201 | DTSTART:20261203 RRULE:FREQ=DAILY;COUNT=4 EXRULE:FREQ=DAILY;INTERVAL=2",
      BERLIN,
      "12-01; Event 2: EXRULE is not supported; use EXDATE.",
    ],
    [
      "DTSTART:20261201 | RECURRENCE-ID;RANGE=THISANDPRIOR:20261202 DTSTART:20261203",
      BERLIN,
      "12-01; Event 2: RECURRENCE-ID may have RANGE=THISANDFUTURE only.",
    ],
  ],
  "a change of this and all later occurrences": [
    // Tuesdays that become Thursdays.
    [
      "DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=4 | RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20261208 DTSTART;VALUE=DATE:20261210",
      BERLIN,
      "12-01 12-10 12-17 12-24",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=4 | RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261208T080000 DTSTART;TZID=Europe/Berlin:20261210T090000",
      BERLIN,
      "12-01 12-10 12-17 12-24",
    ],
    [
      "DTSTART;TZID=America/New_York:20261201T193000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID;RANGE=THISANDFUTURE:20261209T003000Z DTSTART;TZID=America/New_York:20261209T193000",
      NEW_YORK,
      "12-01 12-09 12-16",
    ],
    [
      "DTSTART:20261201T070000Z RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID;RANGE=THISANDFUTURE:20261208T070000Z DTSTART:20261207T070000Z",
      BERLIN,
      "12-01 12-07 12-14",
    ],
    // Two days long from then on.
    [
      "DTSTART:20261201 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID;RANGE=THISANDFUTURE:20261208 DTSTART:20261208 DURATION:P2D",
      BERLIN,
      "12-01 12-08..12-09 12-15..12-16",
    ],
    // Dates that are left out, and single changes, are named by the original days.
    [
      "DTSTART:20261201 RRULE:FREQ=WEEKLY;COUNT=5 EXDATE:20261215 | RECURRENCE-ID;RANGE=THISANDFUTURE:20261208 DTSTART:20261209 | RECURRENCE-ID:20261222 DTSTART:20261221",
      BERLIN,
      "12-01 12-09 12-21 12-30",
    ],
    // Of two changes each counts until the next one, in whichever order they are written.
    [
      "DTSTART:20261201 RRULE:FREQ=WEEKLY;COUNT=5 | RECURRENCE-ID;RANGE=THISANDFUTURE:20261222 DTSTART:20261221 | RECURRENCE-ID;RANGE=THISANDFUTURE:20261208 DTSTART:20261210",
      BERLIN,
      "12-01 12-10 12-17 12-21 12-28",
    ],
    // After midnight on the wall, before and after the clocks change.
    [
      "DTSTART;TZID=Europe/Berlin:20270319T233000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID;RANGE=THISANDFUTURE:20270326T223000Z DTSTART;TZID=Europe/Berlin:20270327T003000",
      BERLIN,
      "03-19 03-27 04-03",
    ],
    [
      "DTSTART:20261201 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID;RANGE=THISANDFUTURE:20261208 DTSTART:20261208 STATUS:CANCELLED",
      BERLIN,
      "12-01",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20261208 DTSTART;TZID=Europe/Berlin:20261209T080000",
      BERLIN,
      "12-01 12-09 12-16",
    ],
    // A rule of the change replaces the rest.
    [
      "DTSTART:20261201 RRULE:FREQ=WEEKLY;COUNT=5 | RECURRENCE-ID;RANGE=THISANDFUTURE:20261208 DTSTART:20261210 RRULE:FREQ=DAILY;COUNT=2",
      BERLIN,
      "12-01 12-10..12-11",
    ],
    // Years before the schedule, and moved into it from before and after it.
    [
      "DTSTART:20100105 RRULE:FREQ=WEEKLY;UNTIL=20260811 | RECURRENCE-ID;RANGE=THISANDFUTURE:20100112 DTSTART:20100113",
      BERLIN,
      "08-05 08-12",
    ],
    [
      "DTSTART:20250805 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID;RANGE=THISANDFUTURE:20250812 DTSTART:20260812",
      BERLIN,
      "08-12 08-19",
    ],
    ["RECURRENCE-ID;RANGE=THISANDFUTURE:20261202 DTSTART:20261203", BERLIN, "12-03"],
  ],
  "a changed occurrence named in UTC": [
    [
      "DTSTART;TZID=America/New_York:20261201T193000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID:20261209T003000Z DTSTART;TZID=America/New_York:20261210T193000",
      NEW_YORK,
      "12-01 12-10 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T003000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID:20261207T233000Z DTSTART:20261210T003000",
      BERLIN,
      "12-01 12-10 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T003000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID:20261207T233000Z DTSTART:20261208T003000 STATUS:CANCELLED",
      BERLIN,
      "12-01 12-15",
    ],
    [
      "DTSTART;TZID=Pacific/Auckland:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID:20261207T190000Z DTSTART:20261210T003000",
      AUCKLAND,
      "12-01 12-10 12-15",
    ],
    [
      "DTSTART:20261201T003000Z RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID:20261208T003000Z DTSTART:20261210T003000Z",
      BERLIN,
      "12-01 12-10 12-15",
    ],
    [
      "DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID:20261207T230000Z DTSTART;VALUE=DATE:20261210",
      BERLIN,
      "12-01 12-10 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID;TZID=America/New_York:20261208T020000 DTSTART:20261210T080000",
      BERLIN,
      "12-01 12-10 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID;VALUE=DATE:20261208 DTSTART:20261210T080000",
      BERLIN,
      "12-01 12-10 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3 | RECURRENCE-ID:20261208T080000Z DTSTART:20261210T080000",
      BERLIN,
      "12-01 12-08 12-10 12-15",
    ],
    [
      "RECURRENCE-ID:20261208T070000Z DTSTART:20261210T080000 | DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=WEEKLY;COUNT=3",
      BERLIN,
      "12-01 12-10 12-15",
    ],
    [
      "DTSTART;TZID=Europe/Berlin:20261201T080000 RRULE:FREQ=DAILY;BYHOUR=8,18;COUNT=4 | RECURRENCE-ID:20261201T070000Z DTSTART:20261220T080000",
      BERLIN,
      "12-01..12-02 12-20",
    ],
  ],
  "dates without a rule": [
    ["DTSTART;VALUE=DATE:20261201 RDATE;VALUE=DATE:20261210", BERLIN, "12-01 12-10"],
    [
      "DTSTART;VALUE=DATE:20261201 RDATE;VALUE=DATE:20261210,20261212 RDATE;VALUE=DATE:20261214",
      BERLIN,
      "12-01 12-10 12-12 12-14",
    ],
    ["DTSTART;TZID=Europe/Berlin:20261201T080000 RDATE:20261210T070000Z", BERLIN, "12-01 12-10"],
    ["DTSTART;TZID=Europe/Berlin:20261201T003000 RDATE:20261209T233000Z", BERLIN, "12-01 12-10"],
    ["DTSTART;VALUE=DATE:20261201 RDATE;VALUE=DATE:20261210 EXDATE;VALUE=DATE:20261201", BERLIN, "12-10"],
    [
      "DTSTART;VALUE=DATE:20261201 DTEND;VALUE=DATE:20261203 RDATE;VALUE=DATE:20261210",
      BERLIN,
      "12-01..12-02 12-10..12-11",
    ],
    ["DTSTART;TZID=Europe/Berlin:20261201T080000 RDATE;VALUE=PERIOD:20261210T070000Z/PT1H", BERLIN, "12-01 12-10"],
    ["DTSTART;VALUE=DATE:20261201 EXDATE;VALUE=DATE:20261208", BERLIN, "12-01"],
    ["DTSTART;VALUE=DATE:20200101 RDATE;VALUE=DATE:20261210", BERLIN, "12-10"],
    ["DTSTART;VALUE=DATE:20261201 RRULE:FREQ=WEEKLY;COUNT=2 RDATE;VALUE=DATE:20261210", BERLIN, "12-01 12-08 12-10"],
    ["DTSTART;TZID=Europe/Berlin:20261201T080000 RDATE;VALUE=DATE:20261210", BERLIN, "12-01 12-10"],
  ],
  "a duration": [
    [
      "DTSTART;VALUE=DATE:20261223 DURATION:P999999999999999999W",
      BERLIN,
      "Event 1: Must not last longer than 3660 days.",
    ],
    [
      `DTSTART;VALUE=DATE:20261223 DURATION:P${"9".repeat(400)}D`,
      BERLIN,
      "Event 1: Must not last longer than 3660 days.",
    ],
    ["DTSTART;VALUE=DATE:20261223 DURATION:PT99999999999H", BERLIN, "Event 1: Must not last longer than 3660 days."],
    ["DTSTART;VALUE=DATE:20261223 DTEND;VALUE=DATE:99991231", BERLIN, "Event 1: Must not last longer than 3660 days."],
    ["DTSTART;VALUE=DATE:20261223 DURATION:P3660D", BERLIN, "12-23..07-31"],
    ["DTSTART;VALUE=DATE:20261223 DURATION:P1D", BERLIN, "12-23"],
    ["DTSTART;VALUE=DATE:20261223 DURATION:-P5D", BERLIN, "12-23"],
    ["DTSTART;VALUE=DATE:20261223 DURATION:P", BERLIN, "Event 1: DURATION is not valid."],
    ["DTSTART;VALUE=DATE:20261223 DURATION:1 day", BERLIN, "Event 1: DURATION is not valid."],
    ["DTSTART:20261223T200000 DURATION:PT4H", BERLIN, "12-23"],
    ["DTSTART:20261223T200000 DURATION:PT4H1M", BERLIN, "12-23..12-24"],
    ["DTSTART;VALUE=DATE:20261223 DTEND;VALUE=DATE:20261220", BERLIN, "12-23"],
  ],
};

describe.each(Object.entries(KINDS))("a calendar with %s", (_kind, cases) => {
  it.each(cases)("%s in %s: %s", async (events, timeZone, days) => {
    expect(await daysOf(calendarOf(events), timeZone)).toBe(days);
  });
});

describe("a calendar text", () => {
  const event = "DTSTART;VALUE=DATE:20261223 SUMMARY:Off";
  it.each([
    ["a byte order mark", `\uFEFF${calendarOf(event)}`],
    ["line feeds only", calendarOf(event, "\n")],
    ["carriage returns only", calendarOf(event, "\r")],
    ["empty lines", calendarOf(event, "\r\n\r\n")],
    ["a byte order mark and leading lines", `\uFEFF\r\n\r\n${calendarOf(event)}`],
    ["a folded date", calendarOf(event).replace("202612", "2026\r\n 12")],
    ["a folded name", calendarOf(event).replace("DTSTART", "DTST\r\n\tART")],
    ["small letters", calendarOf(event).replaceAll("BEGIN", "begin").replace("DTSTART", "dtstart")],
    [
      "an alarm inside",
      calendarOf(event).replace("END:VEVENT", "BEGIN:VALARM\r\nDURATION:P9999W\r\nEND:VALARM\r\nEND:VEVENT"),
    ],
    [
      "a zone with rules",
      calendarOf(event).replace(
        "BEGIN:VEVENT",
        "BEGIN:VTIMEZONE\r\nBEGIN:STANDARD\r\nDTSTART:1\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT",
      ),
    ],
    ["unknown lines", calendarOf(event).replace("SUMMARY", 'X-WR;A="b:c":d\r\nATTENDEE\r\nSUMMARY')],
  ])("may have %s", async (_name, text) => {
    expect(await daysOf(text, BERLIN)).toBe("12-23");
  });

  it.each([
    ["", "Must not be empty."],
    ["\uFEFF", "Must not be empty."],
    ["hello", "Must be an iCalendar text (RFC 5545)."],
    [
      "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20261223",
      "The calendar is cut off: END:VEVENT is missing. Get the whole file again.",
    ],
    [
      calendarOf("DTSTART:20261223").replace("END:VCALENDAR\r\n", ""),
      "The calendar is cut off: END:VCALENDAR is missing. Get the whole file again.",
    ],
    [calendarOf("DTSTART:20261223T240001"), "Event 1: DTSTART is not a valid date."],
    ["BEGIN:VCALENDAR\r\nEND:VEVENT", "Must be an iCalendar text (RFC 5545)."],
    ["BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\nrest", "Must be an iCalendar text (RFC 5545)."],
    [calendarOf(`DTSTART:20261223 RDATE:${"20261224,".repeat(40_000)}20261225`), "Event 1 is too large."],
  ])("is refused if it is %j", async (text, message) => {
    expect(await daysOf(text, BERLIN)).toBe(message);
  });
});

describe("a rule", () => {
  it.each([
    ["blanks in a list", "RRULE:FREQ=WEEKLY;COUNT=4;BYDAY=MO,_TU_,WE", "10-05..10-07 10-12"],
    ["blanks around", "RRULE:_FREQ_=_DAILY_;_COUNT_=_2_", "10-05..10-06"],
    ["quotes", 'RRULE:"FREQ=DAILY;COUNT=2"', "10-05..10-06"],
    ["empty parts", "RRULE:FREQ=DAILY;;COUNT=2;", "10-05..10-06"],
    ["the calendar that holds anyway", "RRULE:RSCALE=GREGORIAN;FREQ=DAILY;COUNT=2", "10-05..10-06"],
    ["another calendar", "RRULE:RSCALE=HEBREW;FREQ=DAILY", INVALID_RULE],
    ["days that are skipped forward", "RRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;SKIP=FORWARD", INVALID_RULE],
    // Without the empty list, bells would be silent on more days.
    ["an empty list", "RRULE:FREQ=DAILY;BYDAY=;COUNT=2", "Event 1: RRULE is not valid."],
    ["an unknown part", "RRULE:FREQ=DAILY;COUNT=2;X-ONLY=MO", INVALID_RULE],
  ])("may have %s, or is refused", async (_what, rule, days) => {
    // An underscore stands for a blank.
    const text = calendarOf(`DTSTART;VALUE=DATE:20261005 ${rule}`).replaceAll("_", " ");
    expect(await daysOf(text, BERLIN)).toBe(days);
  });
});

describe("the end of a day as 24:00", () => {
  it.each([
    ["DTSTART:20261223T080000 DTEND:20261223T240000", "12-23"],
    ["DTSTART:20261223T240000 DTEND:20261224T120000", "12-24"],
    ["DTSTART:20261231T200000 DTEND:20261231T240000 RRULE:FREQ=DAILY;UNTIL=20270101T240000", "12-31..01-01"],
  ])("is the midnight after it: %s", async (event, days) => {
    expect(await daysOf(calendarOf(event), BERLIN)).toBe(days);
  });
});

describe("text of a calendar file", () => {
  const [before, after] = ["DTSTART:20261223\r\nSUMMARY:F", "rien à l'école"].map((text) => Buffer.from(text));
  const e = Buffer.from("é");
  const fold = Buffer.from("\r\n ");

  it.each([
    ["between characters", [before, e, fold, after]],
    ["within a character", [before, e.subarray(0, 1), fold, e.subarray(1), after]],
    [
      "within a character, with line feeds alone",
      [before, e.subarray(0, 1), Buffer.from("\n\t"), e.subarray(1), after],
    ],
  ])("is read as UTF-8 if it is folded %s", (_where, parts) => {
    const text = decodeCalendar(Buffer.concat(parts as Buffer[])).replace(/\r?\n[ \t]/g, "");
    expect(text).toBe("DTSTART:20261223\r\nSUMMARY:Férien à l'école");
  });
});

describe("a costly calendar", () => {
  const everyMinute = `BYHOUR=${Array.from({ length: 24 }, (_, hour) => hour).join()};BYMINUTE=${Array.from({ length: 60 }, (_, minute) => minute).join()}`;
  const decades = { startDate: "1990-01-01", endDate: "2199-12-31" };

  /** The longest turn of the event loop in ms, and what came of the import. */
  async function longestTurn(work: Promise<string>): Promise<[string, number]> {
    let [last, longest, running] = [performance.now(), 0, true];
    const watch = (): void => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
      if (running) setImmediate(watch);
    };
    setImmediate(watch);
    const result = await work;
    running = false;
    return [result, longest];
  }

  it("names each day once despite a rule for every minute", async () => {
    const text = calendarOf(`DTSTART:20000101T000000 RRULE:FREQ=DAILY;${everyMinute} SUMMARY:Always`);
    expect(await daysOf(text, BERLIN)).toBe("08-01..07-31");
  });

  it.each([
    [
      "ten thousand events",
      calendarOf(Array.from({ length: 5_001 }, () => "DTSTART:20261223").join("|")),
      "at most 5000 events",
    ],
    [
      "rules over decades",
      calendarOf(Array.from({ length: 50 }, () => "DTSTART:19700101 RRULE:FREQ=DAILY").join("|")),
      "at most 20000 occurrences",
    ],
    [
      "a rule that matches no day",
      calendarOf("DTSTART:20261201 RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"),
      "matches no day",
    ],
    [
      "a huge count",
      calendarOf(`DTSTART:19000101 RRULE:FREQ=DAILY;COUNT=${"9".repeat(18)}`),
      "at most 20000 occurrences",
    ],
    [
      "a property with thousands of parameters",
      calendarOf(`DTSTART:20261201 SUMMARY${";X=a".repeat(60_000)}:a`),
      "SUMMARY is not valid",
    ],
    [
      "thousands of dates",
      calendarOf(`DTSTART:20261201 RRULE:FREQ=DAILY ${"EXDATE:20261224T080000Z ".repeat(4_900)}`),
      "at most 1000 dates",
    ],
    ["a rule for every second", calendarOf("DTSTART:20261201T000000 RRULE:FREQ=SECONDLY"), "FREQ must be DAILY"],
  ])("with %s is refused in slices", async (_name, text, message) => {
    const work = parseHolidays(text, decades, systemClock, { zones, timeZone: BERLIN }).then(
      () => "read",
      (error: Error) => error.message,
    );
    const [result, longest] = await longestTurn(work);
    expect(result).toContain(message);
    // Far above the promise of 20 ms, as the machine does other work too; without slices it takes seconds.
    expect(longest).toBeLessThan(1_000);
  });
});

describe("a change of this and all later occurrences", () => {
  const change = (day: string, more = ""): string =>
    `RECURRENCE-ID;RANGE=THISANDFUTURE:${day} DTSTART:20261209 ${more}`;

  it("gives them its summary and length", async () => {
    const text = calendarOf(
      `DTSTART:20261201 RRULE:FREQ=WEEKLY;COUNT=3 SUMMARY:Old | ${change("20261208", "DURATION:P2D SUMMARY:New")}`,
    );
    const { holidays } = await parseHolidays(text, YEAR, systemClock, { zones, timeZone: BERLIN });
    expect(holidays).toEqual([
      { startDate: "2026-12-01", endDate: "2026-12-01", description: "Old" },
      { startDate: "2026-12-09", endDate: "2026-12-10", description: "New" },
      { startDate: "2026-12-16", endDate: "2026-12-17", description: "New" },
    ]);
  });

  it("is refused for a series that is changed again and again", async () => {
    const changes = (count: number): string =>
      Array.from({ length: count }, (_none, n) => change(`${1971 + n}0101`, "STATUS:CANCELLED")).join(" | ");
    const series = "DTSTART:19700101 RRULE:FREQ=DAILY;UNTIL=20261201";
    expect(await daysOf(calendarOf(`${series} | ${changes(50)}`), BERLIN)).toBe("");
    expect(await daysOf(calendarOf(`${series} | ${changes(51)}`), BERLIN)).toBe(
      "; Event 1: RECURRENCE-ID with RANGE=THISANDFUTURE may change a series at most 50 times.",
    );
  });
});
