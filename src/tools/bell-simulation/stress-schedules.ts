import { formatSecondOfDay } from "../../bells/local-time.ts";
import {
  type CompiledSchedule,
  compileSchedule,
  type RingListTimes,
  type ScheduleException,
} from "../../bells/schedule-expansion.ts";
import { TIME_ZONES } from "../../resources/bells/time-zones.ts";
import { createTimeZones } from "../../time-zones/time-zones.ts";
import { machineZoneData } from "../../time-zones/zone-data.ts";
import { createSeededRandom } from "./simulated-clock.ts";

/** Rings per day, alternating, five days a week. */
const RINGS = [7, 6];
const LISTS = 40;
/** Rings are on quarter hours, so that many are due at the same instant, as in schools. */
const GRID_S = 900;
/** School holidays of all schedules. */
const HOLIDAYS: readonly (readonly [string, string])[] = [
  ["10-12", "10-16"],
  ["12-21", "01-03"],
  ["02-15", "02-19"],
  ["04-05", "04-16"],
];
const NIGHT_LISTS = 6;

/**
 * Schedules for a school year starting in August of `year`, spread over all time zones, with about 1,200 rings each. Some
 * ring at night, when DST changes; cycles have one to three weeks.
 */
export function stressSchedules(count: number, year: number, seed: number): CompiledSchedule[] {
  const chance = createSeededRandom(seed);
  const zones = createTimeZones(machineZoneData());
  const lists = Array.from({ length: LISTS }, (_, index) => randomRingList(index, chance));
  const exceptions = holidayExceptions(year);
  return Array.from({ length: count }, (_, index) => {
    const numWeeks = 1 + (index % 3);
    const entries = Array.from({ length: numWeeks * 7 }, (_, entryNum) => {
      const isWeekend = entryNum % 7 > 4;
      const rings = !isWeekend || (index % LISTS < NIGHT_LISTS && entryNum % 7 === 6);
      return { entryNum, ringListId: rings ? `${(index + Math.floor(entryNum / 7)) % LISTS}` : null };
    });
    const schedule = {
      ...{ id: String(index), numWeeks, entries, timeZone: TIME_ZONES[index % TIME_ZONES.length] ?? "UTC" },
      ...{ startDate: `${year}-08-24`, endDate: `${year + 1}-06-18` },
    };
    return compileSchedule(schedule, lists, exceptions, { zones });
  });
}

/** The first lists ring in the small hours, when DST changes, the others from 7 to 16 o'clock. */
function randomRingList(index: number, chance: () => number): RingListTimes {
  const [first, span] = index < NIGHT_LISTS ? [0, 4] : [7, 9];
  const seconds = new Set<number>();
  while (seconds.size < (RINGS[index % RINGS.length] ?? 7)) {
    seconds.add(first * 3_600 + Math.floor(chance() * ((span * 3_600) / GRID_S)) * GRID_S);
  }
  const entries = [...seconds].map((second) => {
    const recipients = { deviceGroupIds: [], distributionListIds: [] };
    return { id: `${index}-${second}`, time: formatSecondOfDay(second), messageTemplateId: "m", ...recipients };
  });
  return { id: String(index), entries };
}

function holidayExceptions(year: number): ScheduleException[] {
  return HOLIDAYS.map(([first, last]) => {
    const dateOf = (day: string): string => `${day < "08" ? year + 1 : year}-${day}`;
    return { startDate: dateOf(first), endDate: dateOf(last), ringListId: null, ringListChanges: [] };
  });
}
