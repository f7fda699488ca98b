import { DAY_MS } from "../lib/durations.ts";
import { TIME_ZONE_ALIASES } from "../resources/bells/time-zones.ts";
import type { ZoneData } from "./zone-data.ts";
import type { ZoneSourceKind } from "./zone-sources.ts";

/** The zone data in use and the offsets of the site, so that a client needs no zone data. */
export interface SiteZone {
  timeZoneVersion: string | null;
  timeZoneSource: ZoneSourceKind | null;
  /** Sorted; the first offset applies at all times before the second. */
  offsets: { from: string; minutes: number }[];
}

/** A client shows times of the last weeks and of the next school year. */
const PAST_MS = 92 * DAY_MS;
const AHEAD_MS = 400 * DAY_MS;

export function describeSiteZone({ ownZone }: { ownZone(): string }, data: ZoneData, now: number): SiteZone {
  const name = ownZone();
  // Whole days, so that two responses of a day are the same.
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const table = data.zone(TIME_ZONE_ALIASES[name] ?? name)?.transitions(today - PAST_MS, today + AHEAD_MS);
  const [source] = data.sources();
  return {
    timeZoneVersion: source?.version ?? null,
    timeZoneSource: source?.kind ?? null,
    offsets: (table?.starts ?? []).map((start, index) => ({
      from: new Date(start).toISOString(),
      minutes: Math.round((table?.offsets[index] ?? 0) / 60_000),
    })),
  };
}
