import { formatDayNumber, parseDayNumber } from "../../../../bells/local-time.ts";
import type { Language } from "../../i18n/languages.ts";

const DAYS_OF_WEEK = 7;
const DAY_MS = 86_400_000;
/** A Monday. */
const SOME_MONDAY = parseDayNumber("2024-01-01");

/** A local time with offset as the API gives it, such as `2026-12-01T08:00:00-07:00`, as text; the offset is not shown. */
export function localTimeText(time: string, language: Language, dateStyle: "full" | "medium"): string {
  const format = new Intl.DateTimeFormat(language, { dateStyle, timeStyle: "short", timeZone: "UTC" });
  return format.format(Date.parse(`${time.slice(0, 19)}Z`));
}

/** A `YYYY-MM-DD` as text; `long` includes the weekday. */
export function dayText(day: string, language: Language, style: "long" | "short" | "column"): string {
  const formats: Record<typeof style, Intl.DateTimeFormatOptions> = {
    long: { dateStyle: "full" },
    short: { dateStyle: "medium" },
    column: { weekday: "short", day: "numeric", month: "short" },
  };
  return new Intl.DateTimeFormat(language, { ...formats[style], timeZone: "UTC" }).format(parseDayNumber(day) * DAY_MS);
}

/** The name of a month, `YYYY-MM`, with its year. */
export function monthText(month: string, language: Language): string {
  const format = new Intl.DateTimeFormat(language, { month: "long", year: "numeric", timeZone: "UTC" });
  return format.format(parseDayNumber(`${month}-01`) * DAY_MS);
}

/** The names of the days of a week, Monday first. */
export function weekdayNames(language: Language, weekday: "long" | "short" | "narrow"): string[] {
  const format = new Intl.DateTimeFormat(language, { weekday, timeZone: "UTC" });
  return Array.from({ length: DAYS_OF_WEEK }, (_, at) => format.format((SOME_MONDAY + at) * DAY_MS));
}

/** The seven days of the week that holds a day, Monday first. */
export function weekOf(day: string): string[] {
  const monday = mondayBefore(parseDayNumber(day));
  return Array.from({ length: DAYS_OF_WEEK }, (_, at) => formatDayNumber(monday + at));
}

function mondayBefore(day: number): number {
  return day - ((((day - SOME_MONDAY) % DAYS_OF_WEEK) + DAYS_OF_WEEK) % DAYS_OF_WEEK);
}

/** Twelve months as `YYYY-MM`, from the one that holds a day. */
export function monthsFrom(day: string): string[] {
  const [year = 0, month = 1] = day.split("-").map(Number);
  return Array.from({ length: 12 }, (_, at) => {
    const count = year * 12 + month - 1 + at;
    return `${Math.floor(count / 12)}-${String((count % 12) + 1).padStart(2, "0")}`;
  });
}

/** The days of a month, `YYYY-MM`, in order. */
export function daysOfMonth(month: string): string[] {
  const first = parseDayNumber(`${month}-01`);
  const days = Array.from({ length: 31 }, (_, at) => formatDayNumber(first + at));
  return days.filter((day) => day.startsWith(month));
}

/** `08:00` of `08:00:00`; seconds stay where there are any. */
export function shortTime(time: string): string {
  return time.endsWith(":00") && time.length === 8 ? time.slice(0, 5) : time;
}
