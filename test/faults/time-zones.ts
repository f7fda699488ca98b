import { TIME_ZONES } from "../../src/resources/bells/time-zones.ts";
import {
  canonicalTimeZone,
  compareTimeZones,
  isOutdatedInOracle,
  type TimeZoneComparison,
  type TimeZoneSpan,
} from "../support/time-zone-oracle.ts";

/** Three years for every zone, and the changes of the past that other programs get wrong. */
const YEARS = [2026, 2028] as const;
const ODD: readonly TimeZoneSpan[] = [
  ["America/Sao_Paulo", 2018, 2020],
  ["Pacific/Apia", 2010, 2012],
  ["Africa/Casablanca", 2018, 2020],
  ["Asia/Pyongyang", 2015, 2018],
];

/** Compares every time zone that schedules may name with another implementation. */
export async function compareAllZones(): Promise<TimeZoneComparison & { names: number }> {
  const plain = [...new Set(TIME_ZONES.map(canonicalTimeZone))]
    .filter((name) => !isOutdatedInOracle(name))
    .map((name): TimeZoneSpan => [name, ...YEARS]);
  const [now, past] = [await compareTimeZones(plain), await compareTimeZones(ODD)];
  return {
    names: TIME_ZONES.length,
    zones: now.zones,
    changes: now.changes + past.changes,
    times: now.times + past.times,
    differences: [...now.differences, ...past.differences],
  };
}
