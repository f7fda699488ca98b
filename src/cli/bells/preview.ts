import type { Command } from "commander";
import { type ApiClient, listAll } from "../../api-client/api-client.ts";
import { formatDayNumber, parseDayNumber } from "../../bells/local-time.ts";
import type { Occurrence } from "../../bells/ring-repository.ts";
import type { Timetable } from "../../bells/timetables.ts";
import { systemClock } from "../../lib/clock.ts";
import { DAY_MS } from "../../lib/durations.ts";
import { invalidValue } from "../../lib/errors.ts";
import { EXIT } from "../../lib/exit-codes.ts";
import type { Terminal } from "../../lib/terminal.ts";
import type { TimeZones } from "../../time-zones/time-zones.ts";
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
      const { timetables, ringsOn } = await readDays(options, terminal);
      const lines: string[] = [];
      for (const timetable of timetables)
        lines.push(...(await ringsOn(timetable, options.day)).map((ring) => formatRing(timetable, ring)));
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
      const { timetables, ringsOn } = await readDays(options, terminal);
      let differs = false;
      for (const timetable of timetables) {
        const [day, other] = [await ringsOn(timetable, options.day), await ringsOn(timetable, options.other ?? "")].map(
          (rings) => new Map(rings.map((ring) => [`${ring.localTime} ${ring.messageTemplateId}`, ring])),
        );
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

type DayRing = Pick<Occurrence, "localDate" | "localTime" | "at" | "messageTemplateId">;

interface Days {
  timetables: Timetable[];
  /** Rings of a date in the zone of the schedule, sorted by time. */
  ringsOn(timetable: Timetable, date: string): Promise<DayRing[]>;
}

async function readDays(options: DayOptions, terminal: Terminal): Promise<Days> {
  const { createTimeZones } = await import("../../time-zones/time-zones.ts");
  const { machineZoneData } = await import("../../time-zones/zone-data.ts");
  for (const date of [options.day, options.other ?? options.day]) {
    if (!/^\d{4}-\d\d-\d\d$/.test(date) || formatDayNumber(parseDayNumber(date) || 0) !== date)
      throw invalidValue("day", "Must be a date YYYY-MM-DD.");
  }
  const api = apiClientFrom(options, terminal);
  const today = Math.floor(systemClock.now() / DAY_MS);
  const zones = createTimeZones(machineZoneData());
  return {
    timetables: await readTimetables(api),
    // The appliance knows the time zone data that its bells follow, but lists only past rings that it has rung.
    ringsOn: async (timetable, date) =>
      parseDayNumber(date) > today ? upcomingRingsOn(api, timetable, date) : expandDay(timetable, date, zones),
  };
}

async function upcomingRingsOn(api: ApiClient, { schedule }: Timetable, date: string): Promise<DayRing[]> {
  const [from, to] = [-2, 3].map((days) => formatDayNumber(parseDayNumber(date) + days));
  const rings = await listAll<Omit<DayRing, "at"> & { at: string }>(
    api,
    `/bell-schedules/${schedule.id}/rings?from=${from}&to=${to}`,
  );
  return rings.filter(({ localDate }) => localDate === date).map((ring) => ({ ...ring, at: Date.parse(ring.at) }));
}

async function expandDay(
  { schedule, ringLists, exceptions }: Timetable,
  date: string,
  zones: TimeZones,
): Promise<DayRing[]> {
  const { expandSchedule } = await import("../../bells/schedule-expansion.ts");
  const { toOccurrence } = await import("../../bells/plan-source.ts");
  const noonMs = parseDayNumber(date) * DAY_MS + DAY_MS / 2;
  const nearby = expandSchedule(schedule, ringLists, exceptions, noonMs - 2 * DAY_MS, noonMs + 2 * DAY_MS, { zones });
  return nearby.filter(({ localDate }) => localDate === date).map(toOccurrence);
}

function formatRing({ schedule }: Timetable, { localDate, localTime, at, messageTemplateId }: DayRing): string {
  const utc = new Date(at).toISOString();
  return [localDate, localTime, schedule.timeZone, utc, schedule.id, messageTemplateId].join("  ");
}
