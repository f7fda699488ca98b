import { dateOf, dayOf } from "./local-times.ts";

/** A calendar day `YYYY-MM-DD` that lies `days` (may be negative) after another. */
export function dayAfter(day: string, days: number): string {
  return dateOf(dayOf(day) + days);
}

/** The days from the first to the last, both included; empty when they stand the wrong way round. */
export function* daysBetween(first: string, last: string): Generator<string> {
  for (let day = first; day <= last; day = dayAfter(day, 1)) yield day;
}

/** Days that begin with `startDate` and end with `endDate`, both included, as `YYYY-MM-DD`. */
export interface Span {
  startDate: string;
  endDate: string;
}

/** True when two spans share a day. */
export function overlap(one: Span, other: Span): boolean {
  return one.startDate <= other.endDate && other.startDate <= one.endDate;
}
