import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { formatDayNumber, parseDayNumber } from "./local-time.ts";

/** Adds `days` (may be negative) to a calendar day `YYYY-MM-DD`. */
export function addDays(day: string, days: number): string {
  return formatDayNumber(parseDayNumber(day) + days);
}

/** All days from the first to the last, both included; empty if the last precedes the first. */
export function* daysBetween(first: string, last: string): Generator<string> {
  for (let day = parseDayNumber(first); day <= parseDayNumber(last); day++) yield formatDayNumber(day);
}

/** From `startDate` to `endDate`, both included, as `YYYY-MM-DD`. */
export interface DateSpan {
  startDate: string;
  endDate: string;
}

/** Range of dates that schedules may use. @source docs/decisions/0200-bell-engine-limits.md, Limits */
const FIRST_DAY = "1970-01-01";
const LAST_DAY = "2199-12-31";

/** The first invalid member of a span and the error; null if the span is valid. */
export function validateDateSpan({ startDate, endDate }: DateSpan): { field: keyof DateSpan; message: string } | null {
  const far = (["startDate", "endDate"] as const).find((field) => {
    const day = field === "startDate" ? startDate : endDate;
    return day < FIRST_DAY || day > LAST_DAY;
  });
  if (far)
    return {
      field: far,
      message: sentence("field.must-be-a-day-from-first-to-last", { first: FIRST_DAY, last: LAST_DAY }),
    };
  return endDate < startDate ? { field: "endDate", message: sentence("field.must-not-be-before-startdate") } : null;
}

/** Throws CallerError if the end precedes the start or a day is out of range. */
export function assertValidDateSpan(span: DateSpan): void {
  const invalid = validateDateSpan(span);
  if (invalid) throw invalidValue(invalid.field, invalid.message);
}

export function dateSpansOverlap(one: DateSpan, other: DateSpan): boolean {
  return one.startDate <= other.endDate && other.startDate <= one.endDate;
}
