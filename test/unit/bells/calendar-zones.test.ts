import { describe, expect, it } from "vitest";
import { describedZones } from "../../../src/bells/calendar-zones.ts";
import { parseHolidays } from "../../../src/bells/holidays.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createTimeZones } from "../../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";

const zones = createTimeZones(machineZoneData());
const SPAN = { startDate: "2026-08-01", endDate: "2027-07-31" };

interface Rules {
  name?: string;
  standard: string;
  daylight?: string;
  /** `BYMONTH;BYDAY` of the change to standard time and of the one to daylight saving time. */
  autumn?: string;
  spring?: string;
  start?: string;
  more?: readonly string[];
}

/** A VTIMEZONE as Exchange writes it. */
function component({ name = "Customized Time Zone", standard, daylight = standard, ...rules }: Rules): string {
  const { autumn, spring, start = "16010101T020000", more = [] } = rules;
  const observance = (kind: string, from: string, to: string, rule: string | undefined): string[] => [
    ...[`BEGIN:${kind}`, `DTSTART:${start}`, `TZOFFSETFROM:${from}`, `TZOFFSETTO:${to}`],
    ...(rule ? [`RRULE:FREQ=YEARLY;INTERVAL=1;${rule}`] : []),
    `END:${kind}`,
  ];
  return [
    ...["BEGIN:VTIMEZONE", `TZID:${name}`, ...more],
    ...observance("STANDARD", daylight, standard, autumn),
    ...(spring ? observance("DAYLIGHT", standard, daylight, spring) : []),
    "END:VTIMEZONE",
  ].join("\r\n");
}

const calendar = (...parts: string[]): string => ["BEGIN:VCALENDAR", ...parts, "END:VCALENDAR"].join("\r\n");
const zoneOf = (text: string, timeZone = "UTC"): string | null =>
  describedZones(calendar(text), SPAN, { zones, timeZone }).get("Customized Time Zone") ?? null;

const EU = { autumn: "BYDAY=-1SU;BYMONTH=10", spring: "BYDAY=-1SU;BYMONTH=3" };
const US = { autumn: "BYDAY=1SU;BYMONTH=11", spring: "BYDAY=2SU;BYMONTH=3" };
const BERLIN = { standard: "+0100", daylight: "+0200", ...EU };
const DENVER = { standard: "-0700", daylight: "-0600", ...US };

describe("a time zone that a calendar describes", () => {
  it.each<[string, Rules, string, string]>([
    ["the zone of the schedule", BERLIN, "Europe/Vienna", "Europe/Vienna"],
    ["the zone that it names", { ...BERLIN, more: ["X-LIC-LOCATION:Europe/Madrid"] }, "UTC", "Europe/Madrid"],
    ["any zone with these rules", DENVER, "Europe/Berlin", "America/Boise"],
    ["a zone without daylight saving time", { standard: "-0700" }, "America/Phoenix", "America/Phoenix"],
    ["a zone with half an hour", { standard: "+0530" }, "Asia/Kolkata", "Asia/Kolkata"],
    [
      "a zone of the southern hemisphere",
      { standard: "+1000", daylight: "+1100", autumn: "BYDAY=1SU;BYMONTH=4", spring: "BYDAY=1SU;BYMONTH=10" },
      "Australia/Sydney",
      "Australia/Sydney",
    ],
    ["rules from 2007 on", { ...DENVER, start: "20070101T020000" }, "America/Denver", "America/Denver"],
  ])("counts for %s", (_, rules, timeZone, expected) => {
    expect(zoneOf(component(rules), timeZone)).toBe(expected);
  });

  it.each<[string, Rules]>([
    ["fit no zone", { ...DENVER, standard: "-0713" }],
    ["change on other days", { ...BERLIN, autumn: "BYDAY=1SU;BYMONTH=9" }],
    ["recur every second", { ...BERLIN, autumn: "BYDAY=-1SU;BYMONTH=10;BYSECOND=1,2,3" }],
    ["have no offsets", { standard: "soon" }],
  ])("is left out where its rules %s", (_, rules) => {
    expect(zoneOf(component(rules), "Europe/Berlin")).toBeNull();
  });

  it("is read at bounded cost", () => {
    const text = `${"BEGIN:VTIMEZONE\r\nTZID:Open\r\n".repeat(20_000)}${component(BERLIN)}`;
    expect(zoneOf(text)).toBeNull();
    expect(zoneOf(component({ ...BERLIN, more: Array(5_000).fill("X-NOTE:long") }))).toBeNull();
    expect(zoneOf(component(BERLIN).replace(/FREQ=YEARLY/g, "FREQ=SECONDLY"))).toBeNull();
  });

  it("decides on which day an event lies", async () => {
    const event = [
      ...["BEGIN:VEVENT", "UID:1", "SUMMARY:Late", "DTSTART;TZID=Customized Time Zone:20261223T200000"],
      ...["DURATION:PT1H", "END:VEVENT"],
    ].join("\r\n");
    const holidaysOf = async (...parts: string[]) => {
      const options = { zones, timeZone: "Europe/Berlin" };
      return parseHolidays(calendar(...parts), SPAN, systemClock, options);
    };
    // 20:00 in Denver.
    const described = await holidaysOf(event, component(DENVER));
    const [unknown, known] = [await holidaysOf(event), described];
    expect([unknown.unknownZones, known.unknownZones]).toEqual([["Customized Time Zone"], []]);
    expect(known.holidays).toMatchObject([{ startDate: "2026-12-23", endDate: "2026-12-23", description: "Late" }]);
  });
});
