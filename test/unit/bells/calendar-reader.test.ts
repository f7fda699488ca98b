import { Worker } from "node:worker_threads";
import { expect, it, onTestFinished } from "vitest";
import { type CalendarReader, createCalendarReader } from "../../../src/bells/calendar-reader.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { MACHINE_FOLDER } from "../../../src/time-zones/zone-data.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { encodeTzif, NEWER_VERSION, VANCOUVER_2025, writeZoneFolder } from "../../support/tzif-files.ts";

const YEAR = { startDate: "2026-08-01", endDate: "2027-07-31" };
const zoneFolders = { folder: MACHINE_FOLDER, installedFolder: null };

function calendarOf(...lines: readonly string[]): string {
  return ["BEGIN:VCALENDAR", "BEGIN:VEVENT", ...lines, "END:VEVENT", "END:VCALENDAR", ""].join("\r\n");
}

function open(given: Partial<Parameters<typeof createCalendarReader>[0]> = {}): CalendarReader {
  const reader = createCalendarReader({ clock: systemClock, zoneFolders, zoneData: { revision: 0 }, ...given });
  onTestFinished(reader.close);
  return reader;
}

it("reads a calendar in another thread", async () => {
  const reader = open();
  const text = calendarOf("SUMMARY:Autumn", "DTSTART:20261012", "DTEND:20261017");
  expect(await reader.read(text, YEAR, "Europe/Berlin")).toEqual({
    holidays: [{ startDate: "2026-10-12", endDate: "2026-10-16", description: "Autumn" }],
    rejected: [],
    unknownZones: [],
  });
});

it("says why a text is no calendar", async () => {
  const read = open().read("<html>", YEAR, "Europe/Berlin");
  await expect(read).rejects.toMatchObject({
    type: "invalid-value",
    faults: [{ field: "calendar", message: "Field calendar is not valid. Must be an iCalendar text (RFC 5545)." }],
  });
});

it("follows new time zone data", async () => {
  const folder = makeTempDir();
  const zoneData = { revision: 0 };
  const reader = open({ zoneFolders: { folder, installedFolder: null }, zoneData });
  // Half past seven in UTC is another day by either offset.
  const text = calendarOf("DTSTART:20261201T073000Z", "DTEND:20261201T074000Z");
  const day = async () => (await reader.read(text, YEAR, "America/Vancouver")).holidays[0]?.startDate;
  writeZoneFolder(folder, "2098a", { "America/Vancouver": VANCOUVER_2025 });
  expect(await day()).toBe("2026-11-30");
  writeZoneFolder(folder, NEWER_VERSION, { "America/Vancouver": encodeTzif({ first: -7 * 3_600, footer: "MST7" }) });
  expect(await day()).toBe("2026-11-30");
  zoneData.revision++;
  expect(await day()).toBe("2026-12-01");
});

it("ends a thread that takes too long, refuses the calendar and reads the next one", async () => {
  const clock = createFakeClock();
  const script = `const { parentPort: port } = require("node:worker_threads");
    port.on("message", ({ text }) => { while (text === "endless"); port.postMessage({ parsed: { holidays: [] } }); });`;
  const reader = open({ clock, spawn: () => new Worker(script, { eval: true }) });
  const refused = expect(reader.read("endless", YEAR, "Europe/Berlin")).rejects.toThrow("took more than 20 s");
  await clock.advance(20_000);
  await refused;
  expect(await reader.read("short", YEAR, "Europe/Berlin")).toEqual({ holidays: [] });
});
