import type { Options } from "rrule";
import { DAY_MS } from "../lib/durations.ts";

/** A parsed rule with the defaults it takes from its DTSTART. */
export type ParsedRule = Pick<
  Options,
  | "freq"
  | "interval"
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

/** Frequencies of rrule. @source rrule, Frequency */
const YEARLY = 0;
const MONTHLY = 1;
const WEEKLY = 2;
/** Within this many years every date falls on every day of the week, also with an interval. @source docs/decisions/0200-bell-engine-limits.md, Recurrence rules */
const YEARS_CHECKED = 120;

/**
 * True if a rule matches at least one day. rrule would search up to the year 9999 for a rule that never matches, such as
 * 30 February. BYSETPOS requires monthly or yearly frequency, BYWEEKNO allows days of the week only.
 */
export function hasMatchingDay(rule: ParsedRule): boolean {
  if (rule.byeaster !== null && rule.byeaster !== undefined) return false;
  if (positionsOf(rule.bysetpos).some((place) => !isValidPosition(place, rule))) return false;
  if ((rule.bynweekday ?? []).some((day) => !isValidNth(Number(day[1]), rule))) return false;
  if (isSet(rule.byweekno) && (isSet(rule.bymonth) || isSet(rule.byyearday) || isSet(rule.bymonthday))) return false;
  const first = Math.floor((rule.dtstart?.getTime() ?? 0) / DAY_MS);
  const isPeriod = createPeriodTest(rule, first);
  for (let day = first; day < first + YEARS_CHECKED * 366; day++)
    if (isPeriod(day) && matchesRule(day, rule)) return true;
  return false;
}

function isSet(values: unknown): boolean {
  return positionsOf(values).length > 0;
}

function positionsOf(values: unknown): number[] {
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
function createPeriodTest({ freq, interval }: ParsedRule, first: number): (day: number) => boolean {
  const every = interval || 1;
  const start = new Date(first * DAY_MS);
  const months = (date: Date): number => date.getUTCFullYear() * 12 + date.getUTCMonth();
  if (freq === YEARLY) {
    return (day) => (new Date(day * DAY_MS).getUTCFullYear() - start.getUTCFullYear()) % every === 0;
  }
  if (freq === MONTHLY) return (day) => (months(new Date(day * DAY_MS)) - months(start)) % every === 0;
  if (freq === WEEKLY) return (day) => (Math.floor((day + 3) / 7) - Math.floor((first + 3) / 7)) % every === 0;
  return (day) => (day - first) % every === 0;
}

function matchesRule(day: number, rule: ParsedRule): boolean {
  const date = new Date(day * DAY_MS);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const monthDays = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const yearDay = Math.round((date.getTime() - Date.UTC(year, 0, 1)) / DAY_MS) + 1;
  const yearDays = Math.round((Date.UTC(year + 1, 0, 1) - Date.UTC(year, 0, 1)) / DAY_MS);
  const ofMonth = [...positionsOf(rule.bymonthday), ...positionsOf(rule.bynmonthday)];
  const ofWeek = [...positionsOf(rule.byweekday), ...(rule.bynweekday ?? []).map((each) => Number(each[0]))];
  const isOneOf = (named: readonly number[], ...values: number[]): boolean =>
    named.length === 0 || values.some((value) => named.includes(value));
  return (
    isOneOf(positionsOf(rule.bymonth), month + 1) &&
    isOneOf(ofMonth, date.getUTCDate(), date.getUTCDate() - monthDays - 1) &&
    isOneOf(positionsOf(rule.byyearday), yearDay, yearDay - yearDays - 1) &&
    isOneOf(ofWeek, (date.getUTCDay() + 6) % 7)
  );
}
