import ICAL from "ical.js";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { invalidValue } from "../lib/errors.ts";
import { addDays, type DateSpan } from "./date-span.ts";
import { parseDayNumber as dayNumber, formatDayNumber } from "./local-time.ts";
import { parseRecurrence } from "./recurrence.ts";
import { sortByDate } from "./schedule-exceptions.ts";

/** Consecutive days that a calendar names. */
export interface Holiday extends DateSpan {
  /** At most 250 characters; null without a summary. */
  description: string | null;
}

/** @source docs/decisions/0200-bell-engine-limits.md, Calendars */
const MAX_EVENTS = 5_000;
const MAX_DESCRIPTION_LENGTH = 250;
/** Recurrences that began earlier are expanded from this year on. */
const FIRST_YEAR = 2000;

/**
 * Reads the days of an iCalendar text within the span, sorted by date. Overlapping events are merged and keep the summary
 * of the first. Recurring events are expanded without their EXDATEs and changed occurrences; cancelled events are skipped.
 * An event with times of day counts for every day that it touches. Throws CallerError (`calendar`).
 * @source RFC 5545 §3.8.5
 */
export async function parseHolidays(text: string, span: DateSpan, clock: Clock): Promise<Holiday[]> {
  const events = eventsIn(text);
  if (events.length > MAX_EVENTS) throw calendarError(`Must have at most ${MAX_EVENTS} events.`);
  const changed = new Set(events.filter((event) => event.isRecurrenceException()).map(occurrenceKey));
  const found: Holiday[] = [];
  for (const event of events) {
    found.push(...clipToSpan(event.isRecurring() ? expandRecurrence(event, span, changed) : [toHoliday(event)], span));
    await yieldToEventLoop(clock);
  }
  return mergeHolidays(sortByDate(found));
}

function eventsIn(text: string): ICAL.Event[] {
  try {
    const parsed = ICAL.parse(text) as unknown[];
    // ical.js returns a single calendar as an array that begins with its name, several as an array of such arrays.
    const calendars = (typeof parsed[0] === "string" ? [parsed] : parsed) as unknown[][];
    if (calendars.length === 0) throw calendarError("Must not be empty.");
    return calendars.flatMap((calendar) => {
      const component = new ICAL.Component(calendar as never);
      if (component.name !== "vcalendar") throw calendarError("Must contain a VCALENDAR component.");
      return component.getAllSubcomponents("vevent").map((each) => new ICAL.Event(each));
    });
  } catch (error) {
    if (error instanceof Error && "type" in error) throw error;
    throw calendarError("Must be an iCalendar text (RFC 5545).");
  }
}

function calendarError(message: string) {
  return invalidValue("calendar", message);
}

function occurrenceKey({ uid, recurrenceId }: ICAL.Event): string {
  return `${uid} ${formatDate(recurrenceId)}`;
}

/** The days of an event; null if it is cancelled. */
function toHoliday(event: ICAL.Event): Holiday | null {
  if (!event.startDate) throw calendarError("Each event must have a DTSTART.");
  if (String(event.component.getFirstPropertyValue("status") ?? "").toUpperCase() === "CANCELLED") return null;
  const { startDate: start, endDate: end } = event;
  const startDate = formatDate(start);
  const last = end && end.compare(start) > 0 ? lastDayOf(end) : startDate;
  const description = [...(event.summary ?? "").trim()].slice(0, MAX_DESCRIPTION_LENGTH).join("") || null;
  return { startDate, endDate: last < startDate ? startDate : last, description };
}

/** The days of a recurring event within the span, without the occurrences that another event of the calendar changes. */
function expandRecurrence(event: ICAL.Event, span: DateSpan, changed: ReadonlySet<string>): Holiday[] {
  const first = toHoliday(event);
  if (!first) return [];
  const repetition = parseRecurrence(recurrenceText(event));
  if (typeof repetition === "string") throw calendarError(repetition);
  const length = dayNumber(first.endDate) - dayNumber(first.startDate);
  const from = (dayNumber(span.startDate) - length) * DAY_MS;
  const days = repetition
    .between(from, (dayNumber(span.endDate) + 1) * DAY_MS)
    .map((at) => formatDayNumber(Math.floor(at / DAY_MS)));
  return days
    .filter((day) => !changed.has(`${event.uid} ${day}`))
    .map((startDate) => ({ ...first, startDate, endDate: addDays(startDate, length) }));
}

/** The recurrence properties of an event as RFC 5545 lines with local times. */
function recurrenceText({ component, startDate }: ICAL.Event): string {
  const rules = component.getAllProperties("rrule").map((property) => String(property.getFirstValue()));
  const isPlain = rules.every((rule) => !/COUNT|INTERVAL/.test(rule));
  const start =
    startDate.year < FIRST_YEAR && isPlain
      ? { ...dateTimeParts(startDate), year: FIRST_YEAR }
      : dateTimeParts(startDate);
  const others = ["rdate", "exdate"].flatMap((name) =>
    component
      .getAllProperties(name)
      .flatMap((property) =>
        property
          .getValues()
          .flatMap((value) =>
            value instanceof ICAL.Time ? [`${name.toUpperCase()}:${formatLocalDateTime(dateTimeParts(value))}`] : [],
          ),
      ),
  );
  return [`DTSTART:${formatLocalDateTime(start)}`, ...rules.map((rule) => `RRULE:${rule}`), ...others].join("\n");
}

type DateTimeParts = Record<"year" | "month" | "day" | "hour" | "minute" | "second", number>;

function dateTimeParts({ year, month, day, isDate, hour, minute, second }: ICAL.Time): DateTimeParts {
  return isDate ? { year, month, day, hour: 0, minute: 0, second: 0 } : { year, month, day, hour, minute, second };
}

function formatLocalDateTime({ year, month, day, hour, minute, second }: DateTimeParts): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${year}${two(month)}${two(day)}T${two(hour)}${two(minute)}${two(second)}`;
}

/** The end of an event is exclusive: an end at midnight means the day before. */
function lastDayOf(end: ICAL.Time): string {
  const isMidnight = end.isDate || (end.hour === 0 && end.minute === 0 && end.second === 0);
  return isMidnight ? addDays(formatDate(end), -1) : formatDate(end);
}

function formatDate({ year, month, day }: ICAL.Time): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

function clipToSpan(holidays: readonly (Holiday | null)[], { startDate, endDate }: DateSpan): Holiday[] {
  return holidays.flatMap((holiday) => {
    if (!holiday || holiday.endDate < startDate || holiday.startDate > endDate) return [];
    const first = holiday.startDate < startDate ? startDate : holiday.startDate;
    return [{ ...holiday, startDate: first, endDate: holiday.endDate > endDate ? endDate : holiday.endDate }];
  });
}

function mergeHolidays(holidays: readonly Holiday[]): Holiday[] {
  const all: Holiday[] = [];
  for (const holiday of holidays) {
    const last = all.at(-1);
    const isSame = last && last.description === holiday.description && addDays(last.endDate, 1) === holiday.startDate;
    if (last && (isSame || holiday.startDate <= last.endDate)) {
      if (holiday.endDate > last.endDate) last.endDate = holiday.endDate;
    } else all.push({ ...holiday });
  }
  return all;
}
