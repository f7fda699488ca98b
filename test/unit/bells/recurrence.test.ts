import { expect, it } from "vitest";
import {
  nextRecurrence,
  parseRecurrence,
  parseTime,
  type Recurrence,
  recurrencesBetween,
} from "../../../src/bells/recurrence.ts";
import { createTimeZones, DEFAULT_CLOCK_RULES } from "../../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";

const zones = createTimeZones(machineZoneData());
const read = (text: string): Recurrence => {
  const found = parseRecurrence(text);
  if (typeof found === "string") throw new Error(`${text}: ${found}`);
  return found;
};
const START = Date.UTC(2026, 0, 1);
const local = (text: string, count: number): string => {
  const within = (days: number): number[] => read(text).between(START, START + days * 86_400_000);
  const few = within(9);
  return (few.length < count ? within(1_800) : few)
    .slice(0, count)
    .map((at) => new Date(at).toISOString().slice(2, 16))
    .join(" ");
};

it.each([
  ["0 30 7 ? * MON-FRI", "26-01-01T07:30 26-01-02T07:30 26-01-05T07:30"],
  ["0 30 7 ? * 2-6", "26-01-01T07:30 26-01-02T07:30 26-01-05T07:30"],
  ["0 30 7 ? * 1", "26-01-04T07:30 26-01-11T07:30 26-01-18T07:30"],
  ["0 0 8 ? * 7", "26-01-03T08:00 26-01-10T08:00 26-01-17T08:00"],
  ["0 0 8 ? * L", "26-01-03T08:00 26-01-10T08:00 26-01-17T08:00"],
  ["0 0 8 ? * sun,Wed", "26-01-04T08:00 26-01-07T08:00 26-01-11T08:00"],
  ["0 0 8 ? * FRI-MON", "26-01-02T08:00 26-01-03T08:00 26-01-04T08:00"],
  ["0 0 8 ? * 6-2", "26-01-02T08:00 26-01-03T08:00 26-01-04T08:00"],
  ["0 0 8 ? * 2/2", "26-01-02T08:00 26-01-05T08:00 26-01-07T08:00"],
  ["0 0/20 14 * * ?", "26-01-01T14:00 26-01-01T14:20 26-01-01T14:40"],
  ["0 5/20 14 * * ?", "26-01-01T14:05 26-01-01T14:25 26-01-01T14:45"],
  ["0 0/30 14,18 * * ?", "26-01-01T14:00 26-01-01T14:30 26-01-01T18:00"],
  ["0 0-5/2 14 * * ?", "26-01-01T14:00 26-01-01T14:02 26-01-01T14:04"],
  ["0 */25 3 * * ?", "26-01-01T03:00 26-01-01T03:25 26-01-01T03:50"],
  ["0 0 22-2 * * ?", "26-01-01T00:00 26-01-01T01:00 26-01-01T02:00"],
  ["0 0 0/12 * * ?", "26-01-01T00:00 26-01-01T12:00 26-01-02T00:00"],
  ["0 15 10 * * ? 2027", "27-01-01T10:15 27-01-02T10:15 27-01-03T10:15"],
  ["0 15 10 1 1 ? 2027-2028", "27-01-01T10:15 28-01-01T10:15"],
  ["0 15 10 1 1 ? 2027/2", "27-01-01T10:15 29-01-01T10:15"],
  ["0 15 10 15 * ?", "26-01-15T10:15 26-02-15T10:15 26-03-15T10:15"],
  ["0 15 10 L * ?", "26-01-31T10:15 26-02-28T10:15 26-03-31T10:15"],
  ["0 15 10 LW * ?", "26-01-30T10:15 26-02-27T10:15 26-03-31T10:15"],
  ["0 15 10 15W * ?", "26-01-15T10:15 26-02-16T10:15 26-03-16T10:15"],
  ["0 15 10 1W * ?", "26-01-01T10:15 26-02-02T10:15 26-03-02T10:15"],
  ["0 15 10 31 * ?", "26-01-31T10:15 26-03-31T10:15 26-05-31T10:15"],
  ["0 0 12 29 2 ?", "28-02-29T12:00"],
  ["0 0 12 1/10 * ?", "26-01-01T12:00 26-01-11T12:00 26-01-21T12:00"],
  ["0 11 11 11 11 ?", "26-11-11T11:11 27-11-11T11:11 28-11-11T11:11"],
  ["0 0 9 1 JAN,JUL ?", "26-01-01T09:00 26-07-01T09:00 27-01-01T09:00"],
  ["0 0 9 1 1/6 ?", "26-01-01T09:00 26-07-01T09:00 27-01-01T09:00"],
  ["0 0 9 1 NOV-FEB ?", "26-01-01T09:00 26-02-01T09:00 26-11-01T09:00"],
  ["0 15 10 ? * 6L", "26-01-30T10:15 26-02-27T10:15 26-03-27T10:15"],
  ["0 15 10 ? * FRIL", "26-01-30T10:15 26-02-27T10:15 26-03-27T10:15"],
  ["0 15 10 ? * 6#3", "26-01-16T10:15 26-02-20T10:15 26-03-20T10:15"],
  ["0 15 10 ? * MON#1", "26-01-05T10:15 26-02-02T10:15 26-03-02T10:15"],
  ["0 15 10 ? * 6#5", "26-01-30T10:15 26-05-29T10:15 26-07-31T10:15"],
  ["0 15 10 ? * 6L 2026-2026", "26-01-30T10:15 26-02-27T10:15 26-03-27T10:15"],
  ["0 10,44 14 ? 3 WED", "26-03-04T14:10 26-03-04T14:44 26-03-11T14:10"],
  ["0 0 12 * * *", "26-01-01T12:00 26-01-02T12:00 26-01-03T12:00"],
  ["30 59 23 ? * *", "26-01-01T23:59 26-01-02T23:59 26-01-03T23:59"],
  ["  0  0 6   ? * THU ", "26-01-01T06:00 26-01-08T06:00 26-01-15T06:00"],
  ["DTSTART:20260105T073000\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE", "26-01-05T07:30 26-01-07T07:30 26-01-12T07:30"],
  ["DTSTART;TZID=Europe/Berlin:20260105T073000\r\nRRULE:FREQ=DAILY;COUNT=2", "26-01-05T07:30 26-01-06T07:30"],
  [
    "DTSTART:20260105T073000Z\nRRULE:FREQ=DAILY;UNTIL=20260107T073000Z\nEXDATE:20260106T073000",
    "26-01-05T07:30 26-01-07T07:30",
  ],
  ["DTSTART:20260105T080000\nRRULE:FREQ=DAILY;BYHOUR=8,12;BYMINUTE=0", "26-01-05T08:00 26-01-05T12:00 26-01-06T08:00"],
  ["DTSTART:20260131T080000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=31", "26-01-31T08:00 26-03-31T08:00 26-05-31T08:00"],
])("%s", (text, expected) => {
  expect(local(text, 3)).toBe(expected);
});

it.each([
  ...["", "hello", "30 7 * * 1-5", "* 0 8 * * ?", "0/5 * * * * ?", "0,30 0 8 * * ?", "0 60 8 * * ?", "0 0 24 * * ?"],
  ...["0 0 8 1 * MON", "0 0 8 0 * ?", "0 0 8 32 * ?", "0 0 8 ? * 8", "0 0 8 ? * MUN", "0 0 8 ? 13 1", "0 0 8 L-3 * ?"],
  ...[
    "0 ? 8 * * ?",
    "0 0 8 * * ? 1969",
    "0 0/0 8 * * ?",
    "0 0 8 * * ? 2026 1",
    "RRULE:FREQ=DAILY",
    "DTSTART:20260101T080000\nRRULE:FREQ=SECONDLY",
  ],
  ...[
    "DTSTART:19700101T080000\nRRULE:FREQ=DAILY",
    "DTSTART:2026\nRRULE:FREQ=DAILY",
    "DTSTART:20260101T080000\nRRULE:FREQ=DAILY;BYSECOND=1,2",
    "DTSTART:20260101T080000\nRRULE:FREQ=DAILY;INTERVAL=0",
    "DTSTART:20260101T080000\nRRULE:INTERVAL=-1;FREQ=DAILY",
    "DTSTART:20260105T080000\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
  ],
])("rejects %j with a message", (text) => {
  expect(parseRecurrence(text)).toEqual(expect.any(String));
});

it("applies the DST rules for gap and fold", () => {
  const zone = zones.of("America/New_York");
  const at = (text: string, from: string, rules = DEFAULT_CLOCK_RULES): string =>
    new Date(nextRecurrence(read(text), zone, rules, Date.parse(from)) ?? 0).toISOString();
  expect(at("0 30 2 * * ?", "2026-03-08T05:00:00Z")).toBe("2026-03-08T07:00:00.000Z");
  expect(at("0 30 2 * * ?", "2026-03-08T05:00:00Z", { gap: "skip", fold: "first" })).toBe("2026-03-09T06:30:00.000Z");
  expect(at("0 30 1 * * ?", "2026-11-01T05:00:00Z")).toBe("2026-11-01T05:30:00.000Z");
  expect(at("0 30 1 * * ?", "2026-11-01T05:00:00Z", { gap: "skip", fold: "second" })).toBe("2026-11-01T06:30:00.000Z");
  const year = recurrencesBetween(
    read("0 30 1 * * ?"),
    zone,
    DEFAULT_CLOCK_RULES,
    Date.UTC(2026, 0, 1, 12),
    Date.UTC(2027, 0, 1, 12),
  );
  expect(year).toHaveLength(365);
  expect(nextRecurrence(read("0 0 8 1 1 ? 2025"), zone, DEFAULT_CLOCK_RULES, Date.UTC(2026, 0, 1))).toBeNull();
});

it("reads a leap second as the second before it, and rejects a later one", () => {
  expect(parseTime("20261231T235960")?.localMs).toBe(Date.UTC(2026, 11, 31, 23, 59, 59));
  expect(parseTime("20261231T235961")).toBeNull();
});

it("finds rings in a short span on the days before and after a clock change", () => {
  const zone = zones.of("Europe/Berlin");
  for (const [day, instant] of [
    ["2026-03-28", "2026-03-28T10:30:00.000Z"],
    ["2026-03-30", "2026-03-30T09:30:00.000Z"],
    ["2026-10-24", "2026-10-24T09:30:00.000Z"],
    ["2026-10-26", "2026-10-26T10:30:00.000Z"],
  ]) {
    const at = Date.parse(instant as string);
    const found = recurrencesBetween(read("0 30 11 * * ?"), zone, DEFAULT_CLOCK_RULES, at - 1_800_000, at + 1_800_000);
    expect([day, found.map((ring) => new Date(ring.at).toISOString())]).toEqual([day, [instant]]);
  }
});
