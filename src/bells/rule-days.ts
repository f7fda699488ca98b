import type { Options } from "rrule";
import { DAY_MS } from "../lib/durations.ts";

/** A parsed rule with the defaults it takes from its DTSTART. */
export type ParsedRule = Pick<
  Options,
  | "freq"
  | "interval"
  | "wkst"
  | "bymonth"
  | "bymonthday"
  | "bynmonthday"
  | "byyearday"
  | "byweekday"
  | "bynweekday"
  | "byweekno"
  | "bysetpos"
  | "byeaster"
> & { dtstart: Date | null };

/** The days of a rule, without their times of day. A day is a number of days since 1970. */
export interface RuleDays {
  first: number;
  /** Takes bounded time, whatever the rule is. */
  matches(day: number): boolean;
}

/** Frequencies of rrule. @source rrule, Frequency */
const YEARLY = 0;
const MONTHLY = 1;
const WEEKLY = 2;
/** Within this many years every date falls on every day of the week, also with an interval. @source docs/decisions/0200-bell-engine-limits.md, Recurrence rules */
const YEARS_CHECKED = 120;
const MONDAY = 0;
/** A week belongs to the year that has most of its days. @source RFC 5545, section 3.3.10, BYWEEKNO */
const MAX_DAYS = 4;

/**
 * Compiles the days of a rule; null if it matches no day within 120 years or is not supported: BYSETPOS needs monthly or yearly
 * frequency, BYWEEKNO allows days of the week only. rrule itself searches such rules up to the year 9999.
 * @source RFC 5545, section 3.3.10
 */
export function compileRuleDays(rule: ParsedRule): RuleDays | null {
  if (!isSupported(rule)) return null;
  const first = Math.floor((rule.dtstart?.getTime() ?? 0) / DAY_MS);
  const isPeriod = createPeriodTest(rule, first);
  const isCandidate = createDayTest(rule);
  const positions = numbersOf(rule.bysetpos);
  const matchesPosition = positions.length === 0 ? isCandidate : createPositionTest(rule.freq, positions, isCandidate);
  const matches = (day: number): boolean => day >= first && isPeriod(day) && matchesPosition(day);
  const months = numbersOf(rule.bymonth);
  for (let day = first; day < first + YEARS_CHECKED * 366; day++) {
    const { year, month } = dateOf(day);
    if (months.length > 0 && !months.includes(month + 1)) day = dayNumber(year, month + 1, 1) - 1;
    else if (matches(day)) return { first, matches };
  }
  return null;
}

function isSupported(rule: ParsedRule): boolean {
  if (rule.byeaster !== null && rule.byeaster !== undefined) return false;
  if (numbersOf(rule.bysetpos).some((position) => !isValidPosition(position, rule))) return false;
  if ((rule.bynweekday ?? []).some((day) => !isValidNth(Number(day[1]), rule))) return false;
  const isPlainWeek = !isSet(rule.bymonth) && !isSet(rule.byyearday) && !isSet(rule.bymonthday);
  return !isSet(rule.byweekno) || isPlainWeek;
}

function isSet(values: unknown): boolean {
  return numbersOf(values).length > 0;
}

function numbersOf(values: unknown): number[] {
  if (values === null || values === undefined) return [];
  return Array.isArray(values) ? values.map(Number) : [Number(values)];
}

function isValidPosition(place: number, { freq }: ParsedRule): boolean {
  const maxPosition = freq === YEARLY ? 366 : freq === MONTHLY ? 31 : 0;
  return place !== 0 && Math.abs(place) <= maxPosition;
}

function isValidNth(nth: number, { freq, bymonth }: ParsedRule): boolean {
  if (freq !== YEARLY && freq !== MONTHLY) return false;
  return nth !== 0 && Math.abs(nth) <= (freq === YEARLY && !isSet(bymonth) ? 53 : 5);
}

/** Tests whether a day is in a period that the interval includes. */
function createPeriodTest({ freq, interval, wkst }: ParsedRule, first: number): (day: number) => boolean {
  const every = interval || 1;
  const start = dateOf(first);
  if (freq === YEARLY) return (day) => (dateOf(day).year - start.year) % every === 0;
  if (freq === MONTHLY)
    return (day) => {
      const { year, month } = dateOf(day);
      return ((year - start.year) * 12 + month - start.month) % every === 0;
    };
  if (freq === WEEKLY) {
    const weekOf = (day: number): number => Math.floor((day - weekdayOf(day, weekStartOf(wkst)) - 4) / 7);
    const firstWeek = weekOf(first);
    return (day) => (weekOf(day) - firstWeek) % every === 0;
  }
  return (day) => (day - first) % every === 0;
}

/** Tests a day by itself, without interval and BYSETPOS. */
function createDayTest(rule: ParsedRule): (day: number) => boolean {
  const months = numbersOf(rule.bymonth);
  const monthDays = [...numbersOf(rule.bymonthday), ...numbersOf(rule.bynmonthday)];
  const yearDays = numbersOf(rule.byyearday);
  const weekdays = numbersOf(rule.byweekday);
  const nthWeekdays = (rule.bynweekday ?? []).map(([weekday, nth]) => ({ weekday: Number(weekday), nth: Number(nth) }));
  const weeks = numbersOf(rule.byweekno);
  const countsInYear = rule.freq === YEARLY && months.length === 0;
  const isByWeekdayOnly = [months, monthDays, yearDays, weeks, nthWeekdays].every(({ length }) => length === 0);
  if (isByWeekdayOnly) return (day) => weekdays.length === 0 || weekdays.includes(weekdayOf(day, MONDAY));
  return (day) => {
    const { year, month, monthDay } = dateOf(day);
    if (months.length > 0 && !months.includes(month + 1)) return false;
    const monthLength = dayNumber(year, month + 1, 1) - dayNumber(year, month, 1);
    if (monthDays.length > 0 && !isOneOf(monthDays, monthDay, monthLength)) return false;
    const yearStart = dayNumber(year, 0, 1);
    const yearLength = dayNumber(year + 1, 0, 1) - yearStart;
    if (yearDays.length > 0 && !isOneOf(yearDays, day - yearStart + 1, yearLength)) return false;
    if (weeks.length > 0 && !isInWeeks(weeks, day, weekStartOf(rule.wkst))) return false;
    if (weekdays.length + nthWeekdays.length === 0) return true;
    const weekday = weekdayOf(day, MONDAY);
    if (weekdays.includes(weekday)) return true;
    const [place, length] = countsInYear ? [day - yearStart + 1, yearLength] : [monthDay, monthLength];
    const fromStart = Math.ceil(place / 7);
    const fromEnd = -Math.ceil((length - place + 1) / 7);
    return nthWeekdays.some((each) => each.weekday === weekday && (each.nth === fromStart || each.nth === fromEnd));
  };
}

/** True for a number counted from the start (1, 2, …) or the end (-1, -2, …). */
function isOneOf(named: readonly number[], place: number, length: number): boolean {
  return named.includes(place) || named.includes(place - length - 1);
}

/** Tests whether a day is at one of the positions among the matching days of its month or year. */
function createPositionTest(
  freq: number,
  positions: readonly number[],
  isCandidate: (day: number) => boolean,
): (day: number) => boolean {
  /** The chosen days of the last period: days are asked in order. */
  let chosen = { from: Number.NaN, days: new Set<number>() };
  return (day) => {
    const { year, month } = dateOf(day);
    const from = freq === YEARLY ? dayNumber(year, 0, 1) : dayNumber(year, month, 1);
    if (chosen.from !== from) {
      const to = freq === YEARLY ? dayNumber(year + 1, 0, 1) : dayNumber(year, month + 1, 1);
      const days = Array.from({ length: to - from }, (_, at) => from + at).filter(isCandidate);
      const at = (position: number): number | undefined => days.at(position > 0 ? position - 1 : position);
      chosen = { from, days: new Set(positions.flatMap((position) => at(position) ?? [])) };
    }
    return chosen.days.has(day);
  };
}

function isInWeeks(weeks: readonly number[], day: number, weekStart: number): boolean {
  // The fourth day of a week lies in the year to which the week belongs.
  const middle = day - weekdayOf(day, weekStart) + MAX_DAYS - 1;
  const { year } = dateOf(middle);
  const number = Math.ceil((middle - dayNumber(year, 0, 1) + 1) / 7);
  const last = dayNumber(year + 1, 0, 1) - 1;
  const lastMiddle = last - weekdayOf(last, weekStart) + MAX_DAYS - 1;
  const weeksOfYear = Math.ceil(((lastMiddle > last ? lastMiddle - 7 : lastMiddle) - dayNumber(year, 0, 1) + 1) / 7);
  return isOneOf(weeks, number, weeksOfYear);
}

/** Days since the start of the week; 1970-01-01 was a Thursday. */
function weekdayOf(day: number, weekStart: number): number {
  return (((day + 3 - weekStart) % 7) + 7) % 7;
}

function weekStartOf(wkst: ParsedRule["wkst"]): number {
  return typeof wkst === "number" ? wkst : MONDAY;
}

function dayNumber(year: number, month: number, monthDay: number): number {
  return Date.UTC(year, month, monthDay) / DAY_MS;
}

/** Months from 0, days of the month from 1. */
function dateOf(day: number): { year: number; month: number; monthDay: number } {
  const date = new Date(day * DAY_MS);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth(), monthDay: date.getUTCDate() };
}
