import { invalidValue } from "../base/errors.ts";
import { dateOf, dayOf } from "./local-times.ts";

/** A calendar day `YYYY-MM-DD` that lies `days` (may be negative) after another. */
export function dayAfter(day: string, days: number): string {
  return dateOf(dayOf(day) + days);
}

/** The days from the first to the last, both included; empty when they stand the wrong way round. */
export function* daysBetween(first: string, last: string): Generator<string> {
  for (let day = dayOf(first); day <= dayOf(last); day++) yield dateOf(day);
}

/** Days that begin with `startDate` and end with `endDate`, both included, as `YYYY-MM-DD`. */
export interface Span {
  startDate: string;
  endDate: string;
}

/** Days that bells may be asked for: far away ones would take long to count. own choice */
const FIRST_DAY = "1970-01-01";
const LAST_DAY = "2199-12-31";

/** What is wrong with a span, by the member at fault; null when nothing is. */
export function faultOfSpan({ startDate, endDate }: Span): { field: keyof Span; words: string } | null {
  const far = (["startDate", "endDate"] as const).find((field) => {
    const day = field === "startDate" ? startDate : endDate;
    return day < FIRST_DAY || day > LAST_DAY;
  });
  if (far) return { field: far, words: `It is a day from ${FIRST_DAY} to ${LAST_DAY}.` };
  return endDate < startDate ? { field: "endDate", words: "It lies before startDate." } : null;
}

/** Throws CallerError for days that stand the wrong way round or lie too far away. */
export function requireSpan(span: Span): void {
  const fault = faultOfSpan(span);
  if (fault) throw invalidValue(fault.field, fault.words);
}

/** True when two spans share a day. */
export function overlap(one: Span, other: Span): boolean {
  return one.startDate <= other.endDate && other.startDate <= one.endDate;
}
