import { DAY_MS } from "../lib/durations.ts";

/** Days since 1970 of a `YYYY-MM-DD`. */
export function parseDayNumber(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / DAY_MS;
}

/** The `YYYY-MM-DD` of a day since 1970. */
export function formatDayNumber(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** Seconds since midnight of an `HH:mm:ss`. */
export function secondOfDay(time: string): number {
  return Number(time.slice(0, 2)) * 3_600 + Number(time.slice(3, 5)) * 60 + Number(time.slice(6, 8));
}

/** The `HH:mm:ss` of a second of the day, 0..86399. */
export function formatSecondOfDay(second: number): string {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  return `${two(second / 3_600)}:${two((second / 60) % 60)}:${two(second % 60)}`;
}

/** The Monday on or before a day since 1970, which was a Thursday. */
export function mondayOf(day: number): number {
  return day - ((((day + 3) % 7) + 7) % 7);
}

/** Seconds since midnight of an `HH:mm:ss` or `HH:mm`; null for anything else. */
export function parseSecondOfDay(text: string): number | null {
  return /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.test(text) ? secondOfDay(text) : null;
}
