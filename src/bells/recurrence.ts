import rrule from "rrule";
import { DAY_MS } from "../lib/durations.ts";
import type { ClockRules, TimeZone } from "../time-zones/time-zones.ts";
import { parseQuartzCron } from "./quartz-cron.ts";
import { hasMatchingDay } from "./recurrence-validation.ts";

/** Recurring local times; a local time is the epoch ms at which a UTC clock shows it. */
export interface Recurrence {
  /** Local times from `from` (included) to `to` (not included), sorted. */
  between(from: number, to: number): number[];
}

/** Frequencies and reach that expand within a few ms. @source docs/decisions/0200-bell-engine-limits.md, Recurrence rules */
const FREQUENCIES = /FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;|$)/i;
const EARLIEST_START = Date.UTC(2000, 0, 1);
const HOUR_MS = 3_600_000;
const LOOKAHEAD_STEPS_MS = [2 * HOUR_MS, 8 * DAY_MS, 64 * DAY_MS, 400 * DAY_MS, 1_500 * DAY_MS, 3_000 * DAY_MS];
/** At most one DST change occurs within this span. */
const SHORT_SPAN_MS = 10 * DAY_MS;

/**
 * Parses a Quartz cron expression or RFC 5545 lines (DTSTART, RRULE, EXDATE, RDATE); returns an error message if the text
 * is invalid. Times are local to the zone of the schedule; a zone in the rule is ignored. A rule starts in 2000 or later and
 * recurs at most daily, at the hours and minutes it names (BYHOUR, BYMINUTE).
 */
export function parseRecurrence(text: string): Recurrence | string {
  if (/^\s*(DTSTART|RRULE)/i.test(text)) return parseRfc5545Rule(text);
  const cron = parseQuartzCron(text);
  if (typeof cron === "string") return cron;
  return {
    between(from, to) {
      const found: number[] = [];
      let next = cron.nextRun(new Date(from - 1_000));
      while (next && next.getTime() < to) {
        if (next.getTime() >= from) found.push(next.getTime());
        next = cron.nextRun(next);
      }
      return found;
    },
  };
}

function parseRfc5545Rule(text: string): Recurrence | string {
  const lines = text.trim().split(/\r?\n/).map(toFloatingTime);
  if (!lines.some((line) => line.startsWith("DTSTART:"))) return "A rule must have a line DTSTART:YYYYMMDDTHHMMSS.";
  const rules = lines.filter((line) => line.startsWith("RRULE:"));
  if (rules.some((line) => !FREQUENCIES.test(line))) return "FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY.";
  if (rules.some((line) => /BYSECOND=\d+,/i.test(line))) return "BYSECOND must be a single value.";
  try {
    const set = rrule.rrulestr(lines.join("\n"), { forceset: true }) as InstanceType<typeof rrule.RRuleSet>;
    const start = set.dtstart()?.getTime();
    if (start === undefined || Number.isNaN(start) || start < EARLIEST_START)
      return "DTSTART must be in 2000 or later.";
    if (!set.rrules().every(({ options }) => hasMatchingDay(options))) return "The rule matches no day.";
    return { between: (from, to) => expandRuleSet(set, from, to) };
  } catch {
    return "Invalid recurrence rule; must follow RFC 5545.";
  }
}

/** Expands in bounded steps: rrule does not stop on a rule without an end that matches no day. */
function expandRuleSet(set: InstanceType<typeof rrule.RRuleSet>, from: number, to: number): number[] {
  const bounded = new rrule.RRuleSet();
  for (const rule of set.rrules()) {
    const { until, count } = rule.origOptions;
    const ends = count ? {} : { until: new Date(Math.min(to, until?.getTime() ?? to)) };
    bounded.rrule(new rrule.RRule({ ...rule.origOptions, ...ends }));
  }
  for (const date of set.rdates()) bounded.rdate(date);
  for (const date of set.exdates()) bounded.exdate(date);
  return bounded
    .between(new Date(from), new Date(to), true)
    .map((date) => date.getTime())
    .filter((at) => at < to);
}

/** Removes the time zone of a line: `DTSTART;TZID=Europe/Berlin:20260105T073000` becomes a floating time. */
function toFloatingTime(line: string): string {
  return line
    .replace(/^(DTSTART|EXDATE|RDATE)(;[^:]*)?:/i, (_, name: string) => `${name.toUpperCase()}:`)
    .replace(/^rrule:/i, "RRULE:")
    .replace(/(\d{8}T\d{6})Z/g, "$1");
}

/** The first instant after `after` (epoch ms); null if there is none within eight years. */
export function nextRecurrence(
  repetition: Recurrence,
  zone: TimeZone,
  rules: ClockRules,
  after: number,
): number | null {
  for (const lookMs of LOOKAHEAD_STEPS_MS) {
    const first = recurrencesBetween(repetition, zone, rules, after + 1, after + lookMs)[0];
    if (first) return first.at;
  }
  return null;
}

/** Instants from `fromMs` (included) to `toMs` (not included), sorted, each with its local time. */
export function recurrencesBetween(
  repetition: Recurrence,
  zone: TimeZone,
  rules: ClockRules,
  fromMs: number,
  toMs: number,
): { at: number; localMs: number }[] {
  const { from, to } = localWindow(zone, fromMs, toMs);
  return repetition.between(from, to).flatMap((localMs) => {
    const at = zone.instantOf(localMs, rules);
    return at !== null && at >= fromMs && at < toMs ? [{ at, localMs }] : [];
  });
}

/** The smallest range of local times that contains all instants: frequent rules are costly to expand over long ranges. */
function localWindow(zone: TimeZone, fromMs: number, toMs: number): { from: number; to: number } {
  if (toMs - fromMs > SHORT_SPAN_MS) return { from: fromMs - 2 * DAY_MS, to: toMs + 2 * DAY_MS };
  const offsets = [zone.offsetAt(fromMs - DAY_MS), zone.offsetAt(toMs + DAY_MS)];
  return { from: fromMs + Math.min(...offsets), to: toMs + Math.max(...offsets) };
}
