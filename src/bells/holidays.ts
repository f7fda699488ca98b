import ICAL from "ical.js";
import { type Clock, nextTurn } from "../base/clock.ts";
import { invalidValue } from "../base/errors.ts";
import { dayAfter, type Span } from "./calendar-days.ts";
import { inOrderOfTime } from "./exceptions.ts";
import { dateOf, dayOf as dayNumber } from "./local-times.ts";
import { readRepetition } from "./repetition.ts";
import { DAY_MS } from "./zones.ts";

/** Days that a calendar names. */
export interface Holiday extends Span {
  /** At most 250 characters; null without a summary. */
  description: string | null;
}

/** own choice */
const MOST_EVENTS = 5_000;
const MOST_CHARACTERS = 250;
/** Rules that began earlier are followed from this year on. */
const FIRST_YEAR = 2000;

/**
 * Reads the days of an iCalendar text that lie within the span, in order of time; those that overlap are put together and
 * keep the words of the first. Events that come again do so but for their EXDATEs and changed occurrences; what is
 * cancelled is left out. An event with times of day counts for the days that it touches. Throws CallerError (`calendar`).
 * @source RFC 5545 §3.8.5
 */
export async function readHolidays(text: string, span: Span, clock: Clock): Promise<Holiday[]> {
  const events = eventsIn(text);
  if (events.length > MOST_EVENTS) throw wrong(`At most ${MOST_EVENTS} events.`);
  const changed = new Set(events.filter((event) => event.isRecurrenceException()).map(occurrenceName));
  const found: Holiday[] = [];
  for (const event of events) {
    found.push(...within(event.isRecurring() ? daysOfRule(event, span, changed) : [holidayOf(event)], span));
    await nextTurn(clock);
  }
  return joined(inOrderOfTime(found));
}

function eventsIn(text: string): ICAL.Event[] {
  try {
    const parsed = ICAL.parse(text) as unknown[];
    // One calendar is one list that begins with its name; several are a list of them.
    const calendars = (typeof parsed[0] === "string" ? [parsed] : parsed) as unknown[][];
    if (calendars.length === 0) throw wrong("It is empty.");
    return calendars.flatMap((calendar) => {
      const component = new ICAL.Component(calendar as never);
      if (component.name !== "vcalendar") throw wrong("It holds no VCALENDAR.");
      return component.getAllSubcomponents("vevent").map((each) => new ICAL.Event(each));
    });
  } catch (error) {
    if (error instanceof Error && "type" in error) throw error;
    throw wrong("It is no iCalendar text.");
  }
}

function wrong(words: string) {
  return invalidValue("calendar", words);
}

function occurrenceName({ uid, recurrenceId }: ICAL.Event): string {
  return `${uid} ${dayOf(recurrenceId)}`;
}

/** Which days an event names; none when it is cancelled. */
function holidayOf(event: ICAL.Event): Holiday | null {
  if (!event.startDate) throw wrong("An event has no DTSTART.");
  if (String(event.component.getFirstPropertyValue("status") ?? "").toUpperCase() === "CANCELLED") return null;
  const { startDate: start, endDate: end } = event;
  const startDate = dayOf(start);
  const last = end && end.compare(start) > 0 ? lastDay(end) : startDate;
  const description = [...(event.summary ?? "").trim()].slice(0, MOST_CHARACTERS).join("") || null;
  return { startDate, endDate: last < startDate ? startDate : last, description };
}

/** The days on which an event comes again within the span, without those that another event of the calendar changes. */
function daysOfRule(event: ICAL.Event, span: Span, changed: ReadonlySet<string>): Holiday[] {
  const first = holidayOf(event);
  if (!first) return [];
  const repetition = readRepetition(ruleText(event));
  if (typeof repetition === "string") throw wrong(repetition);
  const length = dayNumber(first.endDate) - dayNumber(first.startDate);
  const from = (dayNumber(span.startDate) - length) * DAY_MS;
  const days = repetition
    .between(from, (dayNumber(span.endDate) + 1) * DAY_MS)
    .map((at) => dateOf(Math.floor(at / DAY_MS)));
  return days
    .filter((day) => !changed.has(`${event.uid} ${day}`))
    .map((startDate) => ({ ...first, startDate, endDate: dayAfter(startDate, length) }));
}

/** The lines of an event that say when it comes again, with local times. */
function ruleText({ component, startDate }: ICAL.Event): string {
  const rules = component.getAllProperties("rrule").map((property) => String(property.getFirstValue()));
  const isPlain = rules.every((rule) => !/COUNT|INTERVAL/.test(rule));
  const start = startDate.year < FIRST_YEAR && isPlain ? { ...parts(startDate), year: FIRST_YEAR } : parts(startDate);
  const others = ["rdate", "exdate"].flatMap((name) =>
    component
      .getAllProperties(name)
      .flatMap((property) =>
        property
          .getValues()
          .flatMap((value) => (value instanceof ICAL.Time ? [`${name.toUpperCase()}:${local(parts(value))}`] : [])),
      ),
  );
  return [`DTSTART:${local(start)}`, ...rules.map((rule) => `RRULE:${rule}`), ...others].join("\n");
}

type Parts = Record<"year" | "month" | "day" | "hour" | "minute" | "second", number>;

function parts({ year, month, day, isDate, hour, minute, second }: ICAL.Time): Parts {
  return isDate ? { year, month, day, hour: 0, minute: 0, second: 0 } : { year, month, day, hour, minute, second };
}

function local({ year, month, day, hour, minute, second }: Parts): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${year}${two(month)}${two(day)}T${two(hour)}${two(minute)}${two(second)}`;
}

/** Ends are not part of an event: what ends at midnight ends on the day before. */
function lastDay(end: ICAL.Time): string {
  const isMidnight = end.isDate || (end.hour === 0 && end.minute === 0 && end.second === 0);
  return isMidnight ? dayAfter(dayOf(end), -1) : dayOf(end);
}

function dayOf({ year, month, day }: ICAL.Time): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

function within(holidays: readonly (Holiday | null)[], { startDate, endDate }: Span): Holiday[] {
  return holidays.flatMap((holiday) => {
    if (!holiday || holiday.endDate < startDate || holiday.startDate > endDate) return [];
    const first = holiday.startDate < startDate ? startDate : holiday.startDate;
    return [{ ...holiday, startDate: first, endDate: holiday.endDate > endDate ? endDate : holiday.endDate }];
  });
}

function joined(holidays: readonly Holiday[]): Holiday[] {
  const all: Holiday[] = [];
  for (const holiday of holidays) {
    const last = all.at(-1);
    const isSame = last && last.description === holiday.description && dayAfter(last.endDate, 1) === holiday.startDate;
    if (last && (isSame || holiday.startDate <= last.endDate)) {
      if (holiday.endDate > last.endDate) last.endDate = holiday.endDate;
    } else all.push({ ...holiday });
  }
  return all;
}
