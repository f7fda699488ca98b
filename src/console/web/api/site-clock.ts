import type { EndpointRow } from "./rows.ts";

/** Local time at the site. */
export interface SiteClock {
  /** Name of the zone, such as `Europe/Berlin`. */
  timeZone: string;
  /** The epoch ms at which a UTC clock shows what a clock at the site shows at `at`. */
  localMsAt(at: number): number;
  /** The day, `YYYY-MM-DD`, that it is at the site. */
  dayAt(at: number): string;
}

/** A clock by the offsets that an appliance gives; the browser's own for null. */
export function siteClockOf(clock: EndpointRow["clock"]): SiteClock {
  const offsets = clock?.offsets ?? [];
  const localMsAt = (at: number): number => {
    const current = offsets.findLast(({ from }) => Date.parse(from) <= at) ?? offsets[0];
    return at + (current?.minutes ?? -new Date(at).getTimezoneOffset()) * 60_000;
  };
  return {
    timeZone: clock?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    localMsAt,
    dayAt: (at) => new Date(localMsAt(at)).toISOString().slice(0, 10),
  };
}
