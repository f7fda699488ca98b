import { TIME_ZONES } from "../../src/resources/bells/time-zones.ts";
import { MACHINE_FOLDER } from "../../src/time-zones/zone-data.ts";
import {
  canonicalTimeZone,
  compareTimeZones,
  namesIn,
  type TimeZoneComparison,
  type TimeZoneSpan,
} from "../support/time-zone-oracle.ts";

/** What schedules use, and the past since the epoch. */
const SPANS = [
  [2020, 2060],
  [1970, 2019],
] as const;
/** Zones per question, so that the answers stay small. */
const ZONES_PER_QUESTION = 50;

/** Compares every time zone that schedules may name with another implementation on the same database. */
export async function compareAllZones(folder = MACHINE_FOLDER): Promise<TimeZoneComparison & { names: number }> {
  const names = namesIn(folder, [...new Set(TIME_ZONES.map(canonicalTimeZone))]);
  const total = { names: TIME_ZONES.length, zones: names.length, changes: 0, times: 0, differences: [] as string[] };
  for (const [first, last] of SPANS) {
    for (let at = 0; at < names.length; at += ZONES_PER_QUESTION) {
      const asked = names.slice(at, at + ZONES_PER_QUESTION).map((name): TimeZoneSpan => [name, first, last]);
      const found = await compareTimeZones(asked, folder);
      total.changes += found.changes;
      total.times += found.times;
      total.differences.push(...found.differences);
    }
  }
  return total;
}
