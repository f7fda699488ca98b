import { describe, expect, it } from "vitest";
import { parseHolidays } from "../../../src/bells/holidays.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createTimeZones } from "../../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";

const YEAR = { startDate: "2031-09-01", endDate: "2032-06-30" };

function calendar(...events: string[][]): string {
  const body = events.map((lines) => ["BEGIN:VEVENT", "DTSTAMP:20310101T000000Z", ...lines, "END:VEVENT"]);
  return ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", ...body.flat(), "END:VCALENDAR", ""].join("\r\n");
}

const zones = { zones: createTimeZones(machineZoneData()), timeZone: "Europe/Berlin" };

const read = async (...events: string[][]) =>
  (await parseHolidays(calendar(...events), YEAR, systemClock, zones)).holidays.map(
    ({ startDate, endDate, description }) => `${startDate}..${endDate} ${description}`,
  );

describe("parseHolidays", () => {
  it("reads events with an exclusive end and clips them to the span", async () => {
    const found = await read(
      ["UID:2", "DTSTART;VALUE=DATE:20311222", "DTEND;VALUE=DATE:20320103", "SUMMARY:Winter\\, long"],
      ["UID:1", "DTSTART;VALUE=DATE:20310825", "DTEND;VALUE=DATE:20310903", "SUMMARY:Summer"],
      ["UID:3", "DTSTART;VALUE=DATE:20311003", "SUMMARY:One day"],
      ["UID:4", "DTSTART;VALUE=DATE:20320701", "DTEND;VALUE=DATE:20320801", "SUMMARY:After"],
      ["UID:5", "DTSTART:20311110T220000", "DTEND:20311111T000000", "SUMMARY:Until midnight"],
      ["UID:6", "DTSTART:20311112T080000", "DTEND:20311113T100000"],
    );
    expect(found).toEqual([
      "2031-09-01..2031-09-02 Summer",
      "2031-10-03..2031-10-03 One day",
      "2031-11-10..2031-11-10 Until midnight",
      "2031-11-12..2031-11-13 null",
      "2031-12-22..2032-01-02 Winter, long",
    ]);
  });

  it("expands recurring events without excluded, cancelled and moved days", async () => {
    const weekly = ["UID:w", "DTSTART;VALUE=DATE:20310905", "RRULE:FREQ=WEEKLY;COUNT=5", "SUMMARY:Friday off"];
    const found = await read(
      [...weekly, "EXDATE;VALUE=DATE:20310912"],
      ["UID:w", "RECURRENCE-ID;VALUE=DATE:20310919", "DTSTART;VALUE=DATE:20310918", "SUMMARY:Thursday instead"],
      ["UID:w", "RECURRENCE-ID;VALUE=DATE:20310926", "DTSTART;VALUE=DATE:20310926", "STATUS:CANCELLED"],
      ["UID:y", "DTSTART;VALUE=DATE:19901003", "RRULE:FREQ=YEARLY", "SUMMARY:Every year"],
      ["UID:c", "DTSTART;VALUE=DATE:20311101", "STATUS:CANCELLED", "SUMMARY:Cancelled"],
    );
    expect(found).toEqual([
      "2031-09-05..2031-09-05 Friday off",
      "2031-09-18..2031-09-18 Thursday instead",
      // The fifth Friday and the yearly day are the same one; the first words stay.
      "2031-10-03..2031-10-03 Friday off",
    ]);
  });

  it("merges adjacent events of the same name and overlapping events", async () => {
    const found = await read(
      ["UID:1", "DTSTART;VALUE=DATE:20311224", "SUMMARY:Feast"],
      ["UID:2", "DTSTART;VALUE=DATE:20311225", "SUMMARY:Feast"],
      ["UID:3", "DTSTART;VALUE=DATE:20311225", "DTEND;VALUE=DATE:20311228", "SUMMARY:More"],
    );
    expect(found).toEqual(["2031-12-24..2031-12-27 Feast"]);
  });

  it("rejects invalid texts and rules that never end", async () => {
    const refusal = async (text: string) =>
      parseHolidays(text, YEAR, systemClock, zones).then(
        () => "read",
        (error: Error) => error.message,
      );
    expect(await refusal("no calendar")).toBe("Field calendar is not valid. Must be an iCalendar text (RFC 5545).");
    expect(await refusal("BEGIN:VCARD\r\nEND:VCARD")).toContain("a VCALENDAR component");
    expect(await refusal("")).toContain("Field calendar is not valid.");
    const event = (rule: string, start = "20310901T080000") => calendar(["UID:1", `DTSTART:${start}`, `RRULE:${rule}`]);
    expect(await refusal(event("FREQ=SECONDLY"))).toContain("FREQ must be DAILY");
    expect(await refusal(event("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"))).toContain("matches no day");
    expect(await refusal(event("FREQ=DAILY;COUNT=3", "18990101T080000"))).toContain("1900 or later");
    expect(await refusal(calendar(["UID:1", "SUMMARY:When?"]))).toContain("must have a DTSTART");
  });
});
