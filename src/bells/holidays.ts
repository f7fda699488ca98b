import ICAL from "ical.js";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { addDays, type DateSpan } from "./date-span.ts";
import { parseDayNumber as dayNumber, formatDayNumber } from "./local-time.ts";
import { parseRecurrence } from "./recurrence.ts";
import { sortByDate } from "./schedule-exceptions.ts";
import { DAY_MS } from "./time-zones.ts";

/** Days that a calendar names. */
export interface Holiday extends DateSpan {
  /** At most 250 characters; null without a summary. */
  description: string | null;
}

/** own choice */
const MAX_EVENTS = 5_000;
const MAX_DESCRIPTION_LENGTH = 250;
/** Rules that began earlier are followed from this year on. */
const FIRST_YEAR = 2000;

/**
 * Reads the days of an iCalendar text that lie within the span, in order of time; those that overlap are put together and
 * keep the words of the first. Events that come again do so but for their EXDATEs and changed occurrences; what is
 * cancelled is left out. An event with times of day counts for the days that it touches. Throws CallerError (`calendar`).
 * @source RFC 5545 §3.8.5
 */
export async function parseHolidays(text: string, span: DateSpan, clock: Clock): Promise<Holiday[]> {
  const events = eventsIn(text);
  if (events.length > MAX_EVENTS) throw calendarError(`At most ${MAX_EVENTS} events.`);
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
    // One calendar is one list that begins with its name; several are a list of them.
    const calendars = (typeof parsed[0] === "string" ? [parsed] : parsed) as unknown[][];
    if (calendars.length === 0) throw calendarError("It is empty.");
    return calendars.flatMap((calendar) => {
      const component = new ICAL.Component(calendar as never);
      if (component.name !== "vcalendar") throw calendarError("It holds no VCALENDAR.");
      return component.getAllSubcomponents("vevent").map((each) => new ICAL.Event(each));
    });
  } catch (error) {
    if (error instanceof Error && "type" in error) throw error;
    throw calendarError("It is no iCalendar text.");
  }
}

function calendarError(words: string) {
  return invalidValue("calendar", words);
}

function occurrenceKey({ uid, recurrenceId }: ICAL.Event): string {
  return `${uid} ${formatDate(recurrenceId)}`;
}

/** Which days an event names; none when it is cancelled. */
function toHoliday(event: ICAL.Event): Holiday | null {
  if (!event.startDate) throw calendarError("An event has no DTSTART.");
  if (String(event.component.getFirstPropertyValue("status") ?? "").toUpperCase() === "CANCELLED") return null;
  const { startDate: start, endDate: end } = event;
  const startDate = formatDate(start);
  const last = end && end.compare(start) > 0 ? lastDayOf(end) : startDate;
  const description = [...(event.summary ?? "").trim()].slice(0, MAX_DESCRIPTION_LENGTH).join("") || null;
  return { startDate, endDate: last < startDate ? startDate : last, description };
}

/** The days on which an event comes again within the span, without those that another event of the calendar changes. */
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

/** The lines of an event that say when it comes again, with local times. */
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

/** Ends are not part of an event: what ends at midnight ends on the day before. */
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
