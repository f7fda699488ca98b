import { describe, expect, it } from "vitest";
import { parseHolidays } from "../../../src/bells/holidays.ts";
import { systemClock } from "../../../src/lib/clock.ts";

const YEAR = { startDate: "2031-09-01", endDate: "2032-06-30" };

function calendar(...events: string[][]): string {
  const body = events.map((lines) => ["BEGIN:VEVENT", "DTSTAMP:20310101T000000Z", ...lines, "END:VEVENT"]);
  return ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", ...body.flat(), "END:VCALENDAR", ""].join("\r\n");
}

const read = async (...events: string[][]) =>
  (await parseHolidays(calendar(...events), YEAR, systemClock)).map(
    ({ startDate, endDate, description }) => `${startDate}..${endDate} ${description}`,
  );

describe("holidays of a calendar", () => {
  it("last from the first day to the one before their end, and no longer than the schedule", async () => {
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

  it("come again but on the days that are left out, cancelled or moved", async () => {
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

  it("that touch and are called alike are one, those that overlap are put together", async () => {
    const found = await read(
      ["UID:1", "DTSTART;VALUE=DATE:20311224", "SUMMARY:Feast"],
      ["UID:2", "DTSTART;VALUE=DATE:20311225", "SUMMARY:Feast"],
      ["UID:3", "DTSTART;VALUE=DATE:20311225", "DTEND;VALUE=DATE:20311228", "SUMMARY:More"],
    );
    expect(found).toEqual(["2031-12-24..2031-12-27 Feast"]);
  });

  it("are refused where the text is none, or would be counted for ever", async () => {
    const refusal = async (text: string) =>
      parseHolidays(text, YEAR, systemClock).then(
        () => "read",
        (error: Error) => error.message,
      );
    expect(await refusal("no calendar")).toBe("Field calendar is not valid. Must be an iCalendar text (RFC 5545).");
    expect(await refusal("BEGIN:VCARD\r\nEND:VCARD")).toContain("a VCALENDAR component");
    expect(await refusal("")).toContain("Field calendar is not valid.");
    const event = (rule: string, start = "20310901T080000") => calendar(["UID:1", `DTSTART:${start}`, `RRULE:${rule}`]);
    expect(await refusal(event("FREQ=SECONDLY"))).toContain("FREQ must be DAILY");
    expect(await refusal(event("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"))).toContain("matches no day");
    expect(await refusal(event("FREQ=DAILY;COUNT=3", "19990101T080000"))).toContain("2000 or later");
    expect(await refusal(calendar(["UID:1", "SUMMARY:When?"]))).toContain("no DTSTART");
  });
});
