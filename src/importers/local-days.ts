import { DAY_MS } from "../lib/durations.ts";
import { DEFAULT_CLOCK_RULES, type TimeZone } from "../time-zones/time-zones.ts";
import type { LocalDays } from "./roster-people.ts";

/** Days in a time zone, at the instant `now`. */
export function localDays(zone: TimeZone, now: number): LocalDays {
  return {
    today: new Date(now + zone.offsetAt(now)).toISOString().slice(0, 10),
    endOf(day) {
      const midnight = Date.parse(`${day}T00:00:00Z`) + DAY_MS;
      return zone.instantOf(midnight, DEFAULT_CLOCK_RULES) ?? midnight - zone.offsetAt(midnight);
    },
  };
}
