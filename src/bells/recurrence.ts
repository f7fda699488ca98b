import rrule from "rrule";
import { DAY_MS } from "../lib/durations.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { isTimeZone } from "../resources/bells/time-zones.ts";
import type { ClockRules, TimeZone, TimeZones } from "../time-zones/time-zones.ts";
import { parseQuartzCron } from "./quartz-cron.ts";
import { compileRuleDays, type ParsedRule, type RuleDays } from "./rule-days.ts";

/** Recurring local times; a local time is the epoch ms at which a UTC clock shows it. */
export interface Recurrence {
  /** Local times from `from` (included) to `to` (not included), sorted. */
  between(from: number, to: number): number[];
  /** The first of these local times on each day; costs little for a rule that recurs every minute. */
  daysBetween(from: number, to: number): number[];
}

/** Frequencies that expand day by day. @source docs/decisions/0200-bell-engine-limits.md, Recurrence rules */
const FREQUENCIES = /FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;|$)/i;
const EARLIEST_START = Date.UTC(2000, 0, 1);
/** @source docs/decisions/0451-calendars.md, Limits */
const MAX_RULES = 10;
const MAX_DATES = 5_000;
const MAX_TEXT_LENGTH = 200_000;
const HOUR_MS = 3_600_000;
const LOOKAHEAD_STEPS_MS = [2 * HOUR_MS, 8 * DAY_MS, 64 * DAY_MS, 400 * DAY_MS, 1_500 * DAY_MS, 3_000 * DAY_MS];
/** At most one DST change occurs within this span. */
const SHORT_SPAN_MS = 10 * DAY_MS;

/** What turns UTC times of a rule into local times. */
export interface RuleZones {
  zones: TimeZones;
  /** Zone of the schedule, a name that `isTimeZone` accepts. */
  timeZone: string;
  /** Earliest DTSTART; default: 2000-01-01. */
  earliestStart?: number;
}

/**
 * Parses a Quartz cron expression or RFC 5545 lines (DTSTART, RRULE, EXDATE, RDATE); returns an error message if the text
 * is invalid. Times are local to the zone of the schedule; TZID is used only for UNTIL, EXDATE and RDATE in UTC, which are
 * turned into local times unless DTSTART is in UTC, too. A rule starts in 2000 or later and recurs at most daily, at the hours
 * and minutes it names (BYHOUR, BYMINUTE). @source docs/decisions/0451-calendars.md, Rules
 */
export function parseRecurrence(text: string, zones: RuleZones | null = null): Recurrence | string {
  if (/^\s*(DTSTART|RRULE|RDATE)/i.test(text)) return parseRfc5545Rule(text, zones);
  const cron = parseQuartzCron(text);
  if (typeof cron === "string") return cron;
  const between = (from: number, to: number): number[] => {
    const found: number[] = [];
    let day = cron.days.nextRun(new Date(Math.floor(from / DAY_MS) * DAY_MS - 1_000));
    for (; day && day.getTime() < to; day = cron.days.nextRun(day)) {
      const midnight = day.getTime();
      found.push(...cron.times.map((time) => midnight + time).filter((at) => at >= from && at < to));
    }
    return found;
  };
  return { between, daysBetween: (from, to) => firstOfDays(between(from, to)) };
}

function firstOfDays(times: readonly number[]): number[] {
  const dayOf = (localMs: number | undefined): number => Math.floor((localMs ?? Number.NaN) / DAY_MS);
  return times.filter((at, index) => dayOf(at) !== dayOf(times[index - 1]));
}

/** A property of a rule, such as `EXDATE;TZID=Europe/Berlin:20261224T080000`. */
interface RuleLine {
  name: string;
  tzid: string | null;
  value: string;
}

/** A date or a time in a rule: epoch ms as a UTC clock shows it. */
export interface RuleTime {
  localMs: number;
  isDate: boolean;
  isUtc: boolean;
}

const INVALID_RULE = sentence("error.invalid-recurrence-rule-must-follow-rfc-5545");

function parseRfc5545Rule(text: string, zones: RuleZones | null): Recurrence | string {
  if (text.length > MAX_TEXT_LENGTH) return sentence("recurrence.max-characters", { limit: MAX_TEXT_LENGTH });
  const lines = text.trim().split(/\r?\n/).map(parseLine);
  if (lines.some((line) => line === null)) return INVALID_RULE;
  const linesOf = (name: string): RuleLine[] => lines.flatMap((line) => (line?.name === name ? [line] : []));
  const [startLine] = linesOf("DTSTART");
  const start = startLine && parseTime(startLine.value);
  if (!startLine || !start) return sentence("recurrence.no-dtstart");
  const { earliestStart = EARLIEST_START } = zones ?? {};
  if (start.localMs < earliestStart)
    return sentence("recurrence.too-early", { year: new Date(earliestStart).getUTCFullYear() });
  const toLocal = localTimeReader(start, startLine.tzid, zones);
  const [additions, exclusions] = [datesOf(linesOf("RDATE"), toLocal), datesOf(linesOf("EXDATE"), toLocal)];
  if (!additions || !exclusions) return INVALID_RULE;
  const ruleLines = linesOf("RRULE");
  if (ruleLines.length > MAX_RULES) return sentence("recurrence.max-rules", { limit: MAX_RULES });
  if (additions.length + exclusions.length > MAX_DATES) return sentence("recurrence.max-dates", { limit: MAX_DATES });
  const rules: ExpandedRule[] = [];
  for (const { value } of ruleLines) {
    const rule = parseRule(value, start, toLocal);
    if (typeof rule === "string") return rule;
    rules.push(rule);
  }
  return expandSet(start, rules, additions, exclusions);
}

function parseLine(line: string): RuleLine | null {
  const match = /^(DTSTART|RRULE|RDATE|EXDATE)((?:;[^:]*)?):(.*)$/i.exec(line.trim());
  if (!match) return null;
  const [, name = "", parameters = "", value = ""] = match;
  return { name: name.toUpperCase(), tzid: /;TZID="?([^";]+)/i.exec(parameters)?.[1] ?? null, value };
}

/** Reads `20261224`, `20261224T080000` or `20261224T080000Z`; null for a text that is no date, such as the 40th of a month. */
export function parseTime(text: string): RuleTime | null {
  const match = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z?))?$/i.exec(text.trim());
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as DateNumbers;
  // A leap second is read as the second before it. @source RFC 5545, section 3.3.12
  const localMs = Date.UTC(year, month - 1, day, hour, minute, Math.min(second, 59));
  const isDay = month >= 1 && month <= 12 && new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
  // Some programs write midnight as the end of the day before.
  const isEndOfDay = hour === 24 && minute === 0 && second === 0;
  if (!isDay || !(hour < 24 || isEndOfDay) || minute > 59 || second > 60) return null;
  return { localMs, isDate: match[4] === undefined, isUtc: match[7] !== undefined && match[7] !== "" };
}

type DateNumbers = [number, number, number, number, number, number];

type LocalTimeReader = (text: string) => RuleTime | null;

/** Reads times as local ones; those in UTC are turned into the zone of DTSTART, or else of the schedule. */
function localTimeReader(start: RuleTime, tzid: string | null, zones: RuleZones | null): LocalTimeReader {
  const zone = zones?.zones.of(isTimeZone(tzid) ? tzid : zones.timeZone);
  return (text) => {
    const time = parseTime(text);
    if (!time?.isUtc || start.isUtc || !zone) return time;
    return { ...time, localMs: time.localMs + zone.offsetAt(time.localMs) };
  };
}

/** The dates of RDATE or EXDATE lines; of a period its start. Null if one is invalid. */
function datesOf(lines: readonly RuleLine[], toLocal: LocalTimeReader): RuleTime[] | null {
  const times = lines.flatMap(({ value }) => value.split(",").map((each) => toLocal(each.split("/")[0] ?? "")));
  return times.some((time) => time === null) ? null : (times as RuleTime[]);
}

interface ExpandedRule {
  days: RuleDays;
  /** Times of day in ms, sorted. */
  times: readonly number[];
  /** The last local time, included. */
  until: number;
  count: number | null;
}

function parseRule(text: string, start: RuleTime, toLocal: LocalTimeReader): ExpandedRule | string {
  if (!FREQUENCIES.test(text)) return sentence("recurrence.freq");
  if (/BYSECOND=\d+,/i.test(text)) return sentence("recurrence.bysecond");
  const untilText = /(?:^|;)UNTIL=([^;]*)/i.exec(text)?.[1];
  const until = untilText === undefined ? null : toLocal(untilText);
  if (untilText !== undefined && !until) return INVALID_RULE;
  const count = Number(/(?:^|;)COUNT=(\d+)(?:;|$)/i.exec(text)?.[1] ?? Number.NaN);
  if (/(?:^|;)COUNT=/i.test(text) && !(count > 0)) return INVALID_RULE;
  if (/(?:^|;)INTERVAL=(?!0*[1-9]\d*(?:;|$))/i.test(text)) return INVALID_RULE;
  try {
    // In any order, and some programs end with a semicolon.
    const parts = text.split(";").map((part) => part.trim());
    const plain = parts.filter((part) => part !== "" && !/^(UNTIL|COUNT)=/i.test(part)).join(";");
    const { options } = new rrule.RRule({ ...rrule.RRule.parseString(plain), dtstart: new Date(start.localMs) });
    const times = timesOfDay(options);
    if (!times) return INVALID_RULE;
    if (times.length > 1 && options.bysetpos !== null && options.bysetpos !== undefined)
      return sentence("recurrence.bysetpos");
    const days = compileRuleDays(options as ParsedRule);
    if (!days) return sentence("recurrence.no-day");
    // An end without a time of day includes the whole day.
    const last = until ? until.localMs + (until.isDate ? DAY_MS - 1 : 0) : Number.POSITIVE_INFINITY;
    return { days, times, until: last, count: Number.isNaN(count) ? null : count };
  } catch {
    return INVALID_RULE;
  }
}

function timesOfDay(options: { byhour: unknown; byminute: unknown; bysecond: unknown }): number[] | null {
  const numbers = (values: unknown): number[] => (Array.isArray(values) ? values.map(Number) : [Number(values ?? 0)]);
  const [second = 0] = numbers(options.bysecond);
  const times = numbers(options.byhour).flatMap((hour) =>
    numbers(options.byminute).map((minute) => (hour * 60 + minute) * 60_000 + second * 1_000),
  );
  if (times.some((time) => !(time >= 0 && time < DAY_MS))) return null;
  return [...new Set(times)].sort((one, other) => one - other);
}

/** Every step takes bounded time: days of the window, times the times of day. */
function expandSet(
  start: RuleTime,
  rules: readonly ExpandedRule[],
  additions: readonly RuleTime[],
  exclusions: readonly RuleTime[],
): Recurrence {
  const expanded = rules.map((rule) => countedRule(rule, start.localMs));
  const dayOf = (localMs: number): number => Math.floor(localMs / DAY_MS);
  const excludedTimes = new Set(
    exclusions.flatMap(({ localMs, isDate }) => (isDate && !start.isDate ? [] : [localMs])),
  );
  const excludedDays = new Set(
    exclusions.flatMap(({ localMs, isDate }) => (isDate || start.isDate ? [dayOf(localMs)] : [])),
  );
  // A date among times is at the time of day of DTSTART.
  const timeOfDay = start.localMs - dayOf(start.localMs) * DAY_MS;
  const added = additions.map(({ localMs, isDate }) => (isDate ? localMs + timeOfDay : localMs));
  // DTSTART is the first of the set; with a rule, only if the rule matches it.
  const single = rules.length === 0 ? [start.localMs, ...added] : added;
  const isExcluded = (at: number): boolean => excludedTimes.has(at) || excludedDays.has(dayOf(at));
  const visitAll = (from: number, to: number, visit: (localMs: number) => void): void => {
    for (const at of single) if (at >= from && at < to) visit(at);
    for (const visitRule of expanded) visitRule(from, to, visit);
  };
  return {
    between(from, to) {
      const found = new Set<number>();
      visitAll(from, to, (at) => void (isExcluded(at) || found.add(at)));
      return [...found].sort((one, other) => one - other);
    },
    daysBetween(from, to) {
      const found = new Map<number, number>();
      let last = Number.NaN;
      visitAll(from, to, (at) => {
        // Of one rule the times are in order, so only the first on a day needs a look.
        if (dayOf(at) === last || isExcluded(at)) return;
        last = dayOf(at);
        found.set(last, Math.min(found.get(last) ?? at, at));
      });
      return [...found.values()].sort((one, other) => one - other);
    },
  };
}

/** Visits the local times of a rule from `from` to `to`; those before are counted once if the rule has a COUNT. */
function countedRule(
  { days, times, until, count }: ExpandedRule,
  startMs: number,
): (from: number, to: number, visit: (localMs: number) => void) => void {
  /** Of the rule with a COUNT: all times on the days before `day` are counted. */
  let counted = { day: days.first, times: 0 };
  const eachTime = (day: number, visit: (localMs: number) => void): void => {
    if (!days.matches(day)) return;
    for (const time of times) {
      const at = day * DAY_MS + time;
      if (at >= startMs && at <= until) visit(at);
    }
  };
  /** All times of a day count, except on the first and the last. */
  const timesOn = (day: number): number => {
    const midnight = day * DAY_MS;
    if (midnight >= startMs && midnight + DAY_MS <= until) return times.length;
    return times.filter((time) => midnight + time >= startMs && midnight + time <= until).length;
  };
  return (from, to, visit) => {
    const firstDay = Math.max(days.first, Math.floor(from / DAY_MS));
    const lastDay = Math.floor((Math.min(to, until + 1) - 1) / DAY_MS);
    if (count !== null) {
      if (firstDay < counted.day) counted = { day: days.first, times: 0 };
      while (counted.day < firstDay && counted.times < count) {
        if (days.matches(counted.day)) counted.times += timesOn(counted.day);
        counted.day++;
      }
    }
    let number = count === null ? 0 : counted.times;
    for (let day = firstDay; day <= lastDay && (count === null || number < count); day++) {
      eachTime(day, (at) => {
        number++;
        if (at >= from && at < to && (count === null || number <= count)) visit(at);
      });
    }
  };
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
