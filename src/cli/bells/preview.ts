import type { Command } from "commander";
import { formatDayNumber, parseDayNumber } from "../../bells/local-time.ts";
import { expandSchedule, type Ring } from "../../bells/schedule-expansion.ts";
import type { Timetable } from "../../bells/timetables.ts";
import { DAY_MS } from "../../lib/durations.ts";
import { invalidValue } from "../../lib/errors.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import { createTimeZones, type TimeZones } from "../../time-zones/time-zones.ts";
import { machineZoneData } from "../../time-zones/zone-data.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "../appliance-options.ts";
import { readTimetables } from "./read-timetables.ts";

interface DayOptions extends ApplianceOptions {
  day: string;
  other?: string;
}

/** `carillon bells preview` and `diff`: the rings of a day, and the differences between two days. */
export function addPreview(bells: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  addApplianceOptions(bells.command("preview"), terminal)
    .description("Show the rings of a day.")
    .requiredOption("--day <date>", "YYYY-MM-DD, in each schedule's time zone")
    .addHelpText("after", "\nExample:\n  carillon bells preview --day 2026-09-01")
    .action(async (options: DayOptions) => {
      const zones = createTimeZones(machineZoneData());
      const timetables = await timetablesOf(options, terminal);
      const lines = timetables.flatMap((timetable) =>
        ringsOn(timetable, options.day, zones).map((ring) => formatRing(timetable, ring)),
      );
      for (const line of lines) terminal.out(line);
      if (lines.length === 0)
        terminal.err(
          timetables.length === 0
            ? "No bell schedules yet: create one in the console under Bells, or with POST /ring-lists and /bell-schedules."
            : `No rings on ${options.day}.`,
        );
      finish(EXIT.ok);
    });
  addApplianceOptions(bells.command("diff"), terminal)
    .description("Show the differences between the rings of two days; exit 1 if there are any.")
    .requiredOption("--day <date>", "YYYY-MM-DD")
    .requiredOption("--other <date>", "YYYY-MM-DD to compare with")
    .addHelpText("after", "\nExample:\n  carillon bells diff --day 2026-09-01 --other 2026-09-08")
    .action(async (options: DayOptions) => {
      const zones = createTimeZones(machineZoneData());
      let differs = false;
      for (const timetable of await timetablesOf(options, terminal)) {
        const [day, other] = [options.day, options.other ?? ""].map((date) => timesOn(timetable, date, zones));
        for (const [sign, times, without] of [
          ["-", other, day],
          ["+", day, other],
        ] as const) {
          for (const [key, ring] of times ?? []) {
            if (without?.has(key)) continue;
            differs = true;
            terminal.out(`${sign} ${formatRing(timetable, ring)}`);
          }
        }
      }
      finish(differs ? EXIT.failure : EXIT.ok);
    });
}

async function timetablesOf(options: DayOptions, terminal: Terminal): Promise<Timetable[]> {
  for (const date of [options.day, options.other ?? options.day]) {
    if (!/^\d{4}-\d\d-\d\d$/.test(date) || formatDayNumber(parseDayNumber(date) || 0) !== date)
      throw invalidValue("day", "Must be a date YYYY-MM-DD.");
  }
  return readTimetables(apiClientFrom(options, terminal));
}

function timesOn(timetable: Timetable, date: string, zones: TimeZones): Map<string, Ring> {
  return new Map(
    ringsOn(timetable, date, zones).map((ring) => [`${ring.localTime} ${ring.entry.messageTemplateId}`, ring]),
  );
}

function ringsOn({ schedule, ringLists, exceptions }: Timetable, date: string, zones: TimeZones): Ring[] {
  const noonMs = parseDayNumber(date) * DAY_MS + DAY_MS / 2;
  const nearby = expandSchedule(schedule, ringLists, exceptions, noonMs - 2 * DAY_MS, noonMs + 2 * DAY_MS, { zones });
  return nearby.filter(({ localDate }) => localDate === date);
}

function formatRing({ schedule }: Timetable, { localDate, localTime, at, entry }: Ring): string {
  const utc = new Date(at).toISOString();
  return [localDate, localTime, schedule.timeZone, utc, schedule.id, entry.messageTemplateId].join("  ");
}
