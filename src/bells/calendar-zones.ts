import ICAL from "ical.js";
import { isTimeZone, TIME_ZONES } from "../resources/bells/time-zones.ts";
import { DEFAULT_CLOCK_RULES } from "../time-zones/time-zones.ts";
import type { DateSpan } from "./date-span.ts";
import type { RuleZones } from "./recurrence.ts";

/** A calendar rarely describes more than two zones. */
const MAX_COMPONENTS = 20;
const MAX_COMPONENT_LENGTH = 20_000;
const MAX_OBSERVANCES = 20;
/** Rules that began earlier are read as if they began so long before the span: ical.js expands them year by year. */
const YEARS_BEFORE = 3;

/**
 * The zones of the database by the names under which the calendar describes them in VTIMEZONE components. A description counts
 * for the zone that has the same offsets in the years of the span: the one of the schedule, the one that X-LIC-LOCATION names, or
 * the first one. Descriptions that fit no zone, or that can't be read, are left out.
 * @source RFC 5545, section 3.6.5; docs/decisions/0545-described-time-zones.md
 */
export function describedZones(text: string, span: DateSpan, zones: RuleZones): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const instants = sampleTimes(span);
  let byOffsets: Map<string, string> | null = null;
  const offsetsOfZone = (name: string): string =>
    instants
      .map((localMs) => localMs - (zones.zones.of(name).instantOf(localMs, DEFAULT_CLOCK_RULES) ?? Number.NaN))
      .join();
  const fitting = (offsets: string, preferred: readonly string[]): string | undefined => {
    const known = preferred.find((name) => isTimeZone(name) && offsetsOfZone(name) === offsets);
    if (known !== undefined) return known;
    byOffsets ??= new Map(TIME_ZONES.toReversed().map((name) => [offsetsOfZone(name), name]));
    return byOffsets.get(offsets);
  };
  for (const component of componentsOf(text)) {
    const described = readComponent(component, span, instants);
    if (!described || found.has(described.name)) continue;
    const zone = fitting(described.offsets, [zones.timeZone, described.location]);
    if (zone !== undefined) found.set(described.name, zone);
  }
  return found;
}

/** The first VTIMEZONE components; those that are too long are left out. */
function componentsOf(text: string): string[] {
  const found: string[] = [];
  const begin = /^BEGIN:VTIMEZONE\b/gim;
  const end = /^END:VTIMEZONE\b/gim;
  for (let count = 0; count < MAX_COMPONENTS; count++) {
    const first = begin.exec(text);
    if (!first) break;
    end.lastIndex = first.index;
    const last = end.exec(text);
    if (!last) break;
    begin.lastIndex = end.lastIndex;
    if (end.lastIndex - first.index <= MAX_COMPONENT_LENGTH) found.push(text.slice(first.index, end.lastIndex));
  }
  return found;
}

interface DescribedZone {
  name: string;
  /** X-LIC-LOCATION; empty if absent. */
  location: string;
  /** At the sample times, in ms. */
  offsets: string;
}

function readComponent(text: string, span: DateSpan, instants: readonly number[]): DescribedZone | null {
  const lines = text.replace(/(?:\r\n|\n|\r)[ \t]/g, "").split(/\r\n|\n|\r/);
  const rules = lines.filter((line) => /^RRULE/i.test(line));
  const observances = lines.filter((line) => /^BEGIN:(?:STANDARD|DAYLIGHT)\b/i.test(line)).length;
  // Rules that recur more often than once a year describe no zone.
  if (observances > MAX_OBSERVANCES || !rules.every((line) => /FREQ=YEARLY\b/i.test(line))) return null;
  if (rules.some((line) => /BY(?:HOUR|MINUTE|SECOND|SETPOS|WEEKNO|YEARDAY)=/i.test(line))) return null;
  try {
    const calendar = ["BEGIN:VCALENDAR", ...withLaterStart(lines, span), "END:VCALENDAR"].join("\r\n");
    const component = new ICAL.Component(ICAL.parse(calendar)).getFirstSubcomponent("vtimezone");
    if (!component) return null;
    const zone = new ICAL.Timezone(component);
    const offsetAt = (localMs: number): number => {
      const at = new Date(localMs);
      const local = { year: at.getUTCFullYear(), month: at.getUTCMonth() + 1, day: at.getUTCDate(), hour: 12 };
      return zone.utcOffset(new ICAL.Time(local, ICAL.Timezone.localTimezone)) * 1_000;
    };
    const location = String(component.getFirstPropertyValue("x-lic-location") ?? "");
    return { name: zone.tzid, location, offsets: instants.map(offsetAt).join() };
  } catch {
    return null;
  }
}

/** Rules without an end begin a few years before the span. */
function withLaterStart(lines: readonly string[], { startDate }: DateSpan): string[] {
  const first = Number(startDate.slice(0, 4)) - YEARS_BEFORE;
  const observances: string[][] = [[]];
  for (const line of lines) {
    if (/^BEGIN:/i.test(line)) observances.push([]);
    observances.at(-1)?.push(line);
  }
  return observances.flatMap((observance) => {
    const isEndless = (line: string): boolean =>
      /^RRULE/i.test(line) && !/(?:UNTIL|COUNT)=|INTERVAL=(?!1\b)/i.test(line);
    if (!observance.some(isEndless)) return observance;
    return observance.map((line) =>
      line.replace(/^(DTSTART[^:]*:)(\d{4})(?=\d{4}T)/i, (_, name, year) => `${name}${Math.max(first, Number(year))}`),
    );
  });
}

/** Noon of two days of each month of the span, at most three years. */
function sampleTimes({ startDate, endDate }: DateSpan): number[] {
  const [from, to] = [Number(startDate.slice(0, 4)), Number(endDate.slice(0, 4))];
  const years = Array.from({ length: Math.min(3, to - from + 1) }, (_, at) => from + at);
  return years.flatMap((year) =>
    Array.from({ length: 24 }, (_, at) => Date.UTC(year, at >> 1, at % 2 === 0 ? 3 : 17, 12)),
  );
}
