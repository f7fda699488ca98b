import { invalidValue } from "../lib/errors.ts";
import { formatDayNumber, parseDayNumber } from "./local-time.ts";

/** A calendar day `YYYY-MM-DD` that lies `days` (may be negative) after another. */
export function addDays(day: string, days: number): string {
  return formatDayNumber(parseDayNumber(day) + days);
}

/** The days from the first to the last, both included; empty when they stand the wrong way round. */
export function* daysBetween(first: string, last: string): Generator<string> {
  for (let day = parseDayNumber(first); day <= parseDayNumber(last); day++) yield formatDayNumber(day);
}

/** Days that begin with `startDate` and end with `endDate`, both included, as `YYYY-MM-DD`. */
export interface DateSpan {
  startDate: string;
  endDate: string;
}

/** Days that bells may be asked for: far away ones would take long to count. own choice */
const FIRST_DAY = "1970-01-01";
const LAST_DAY = "2199-12-31";

/** What is wrong with a span, by the member at fault; null when nothing is. */
export function validateDateSpan({ startDate, endDate }: DateSpan): { field: keyof DateSpan; words: string } | null {
  const far = (["startDate", "endDate"] as const).find((field) => {
    const day = field === "startDate" ? startDate : endDate;
    return day < FIRST_DAY || day > LAST_DAY;
  });
  if (far) return { field: far, words: `It is a day from ${FIRST_DAY} to ${LAST_DAY}.` };
  return endDate < startDate ? { field: "endDate", words: "It lies before startDate." } : null;
}

/** Throws CallerError for days that stand the wrong way round or lie too far away. */
export function assertValidDateSpan(span: DateSpan): void {
  const fault = validateDateSpan(span);
  if (fault) throw invalidValue(fault.field, fault.words);
}

/** True when two spans share a day. */
export function dateSpansOverlap(one: DateSpan, other: DateSpan): boolean {
  return one.startDate <= other.endDate && other.startDate <= one.endDate;
}
