import ICAL from "ical.js";
import type { Clock } from "../base/clock.ts";
import { invalidValue } from "../base/errors.ts";
import { dayAfter, type Span } from "./calendar-days.ts";
import { inOrderOfTime } from "./exceptions.ts";

/** Days that a calendar names. */
export interface Holiday extends Span {
  /** At most 250 characters; null without a summary. */
  description: string | null;
}

/** own choice: what a calendar of holidays may hold. */
const MOST_EVENTS = 5_000;
const MOST_OCCURRENCES = 2_000;
const FREQUENCIES = new Set(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]);
const MOST_CHARACTERS = 250;

/**
 * Reads the days of an iCalendar text that lie within the span, in order of time; those that overlap are put together and
 * keep the words of the first. Events that come again do so but for their EXDATEs and changed occurrences; what is
 * cancelled is left out. An event with times of day counts for the days that it touches. Throws CallerError (`calendar`).
 * @source RFC 5545 §3.8.5
 */
export async function readHolidays(text: string, span: Span, clock: Clock): Promise<Holiday[]> {
  const events = eventsIn(text);
  if (events.length > MOST_EVENTS) throw wrong(`At most ${MOST_EVENTS} events.`);
  const changed = new Map<string, ICAL.Event[]>();
  for (const event of events) {
    if (event.isRecurrenceException()) changed.set(event.uid, [...(changed.get(event.uid) ?? []), event]);
  }
  const found: Holiday[] = [];
  for (const event of events) {
    if (event.isRecurrenceException()) continue;
    for (const change of changed.get(event.uid) ?? []) event.relateException(change);
    found.push(...occurrencesOf(event, span));
    await new Promise<void>((resolve) => clock.soon(resolve));
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

function occurrencesOf(event: ICAL.Event, span: Span): Holiday[] {
  if (!event.startDate) throw wrong("An event has no DTSTART.");
  if (!event.isRecurring()) return within(holidayOf(event, event.startDate, event.endDate), span);
  requireSlowRule(event);
  const found: Holiday[] = [];
  const times = event.iterator();
  for (let count = 0; count < MOST_OCCURRENCES; count++) {
    const next = times.next();
    if (!next || dayOf(next) > span.endDate) return found;
    const { item, startDate, endDate } = event.getOccurrenceDetails(next);
    found.push(...within(holidayOf(item, startDate, endDate), span));
  }
  throw wrong(`An event comes more than ${MOST_OCCURRENCES} times.`);
}

/** What comes every second would be counted for ever. */
function requireSlowRule(event: ICAL.Event): void {
  for (const rule of event.component.getAllProperties("rrule")) {
    const { freq } = rule.getFirstValue() as unknown as { freq: string };
    if (!FREQUENCIES.has(freq)) throw wrong("An event comes more often than daily.");
  }
}

function holidayOf(event: ICAL.Event, start: ICAL.Time, end: ICAL.Time | null): Holiday | null {
  if (String(event.component.getFirstPropertyValue("status") ?? "").toUpperCase() === "CANCELLED") return null;
  const startDate = dayOf(start);
  const last = end && end.compare(start) > 0 ? lastDay(end) : startDate;
  const description = [...(event.summary ?? "").trim()].slice(0, MOST_CHARACTERS).join("") || null;
  return { startDate, endDate: last < startDate ? startDate : last, description };
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

function within(holiday: Holiday | null, { startDate, endDate }: Span): Holiday[] {
  if (!holiday || holiday.endDate < startDate || holiday.startDate > endDate) return [];
  const first = holiday.startDate < startDate ? startDate : holiday.startDate;
  return [{ ...holiday, startDate: first, endDate: holiday.endDate > endDate ? endDate : holiday.endDate }];
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
