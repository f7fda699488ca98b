import { describe, expect, it } from "vitest";
import { decodeCalendar } from "../../../src/bells/calendar-encoding.ts";
import { parseHolidays } from "../../../src/bells/holidays.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { zoneOfWindowsName } from "../../../src/resources/bells/windows-zones.ts";
import { createTimeZones } from "../../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";
import { writtenInputs } from "../../fixtures/calendar-inputs.ts";

const zones = createTimeZones(machineZoneData());
const YEAR = { startDate: "2026-08-01", endDate: "2027-07-31" };
const inputs = writtenInputs();

describe("a written calendar", () => {
  it.each(inputs.filter(({ kind }) => kind === "calendar"))("$name", async ({ bytes, verdict, days }) => {
    const read = parseHolidays(decodeCalendar(bytes), YEAR, systemClock, { zones, timeZone: "Europe/Berlin" });
    if (verdict === "refused") return expect(read).rejects.toThrow("Field calendar is not valid.");
    const { holidays, rejected } = await read;
    const found = holidays.map(({ startDate, endDate }) =>
      startDate === endDate ? startDate.slice(5) : `${startDate.slice(5)}..${endDate.slice(5)}`,
    );
    expect([found.join(" "), rejected.length > 0]).toEqual([days, verdict === "skipped"]);
  });

  it("names zones that are unknown", async () => {
    const unknown = inputs.find(({ name }) => name.endsWith("an unknown zone"))?.bytes.toString() ?? "";
    const read = await parseHolidays(unknown, YEAR, systemClock, { zones, timeZone: "Europe/Berlin" });
    expect(read.unknownZones).toEqual(["Nowhere/Land"]);
  });
});

it("there are 200 written inputs at least, each with its own name and content", () => {
  expect(inputs.length).toBeGreaterThanOrEqual(200);
  expect(new Set(inputs.map(({ name }) => name)).size).toBe(inputs.length);
});

it.each([
  ["Eastern Standard Time", "America/New_York"],
  ["eastern daylight time", "America/New_York"],
  ["W. Europe Standard Time", "Europe/Berlin"],
  ["Central Standard Time (Mexico)", "America/Mexico_City"],
  ["UTC", "Etc/UTC"],
  ["E. Australia Standard Time", "Australia/Brisbane"],
  ["Nowhere Standard Time", null],
  ["", null],
])("the zone %s of Windows is %s", (name, zone) => {
  expect(zoneOfWindowsName(name)).toBe(zone);
});
