import type { Clock } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { type CallerError, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createTimeSlice, type TimeSlice } from "../lib/time-slice.ts";
import { isTimeZone } from "../resources/bells/time-zones.ts";
import { zoneOfWindowsName } from "../resources/bells/windows-zones.ts";
import { DEFAULT_CLOCK_RULES } from "../time-zones/time-zones.ts";
import {
  type CalendarEvent,
  type CalendarProperty,
  CalendarSyntaxError,
  readCalendarEvents,
} from "./calendar-events.ts";
import { describedZones } from "./calendar-zones.ts";
import type { DateSpan } from "./date-span.ts";
import { formatDayNumber, parseDayNumber } from "./local-time.ts";
import { parseRecurrence, parseTime, type RuleTime, type RuleZones } from "./recurrence.ts";
import { sortByDate } from "./schedule-exceptions.ts";

/** Consecutive days that a calendar names. */
export interface Holiday extends DateSpan {
  /** At most 250 characters; null without a summary. */
  description: string | null;
}

/** An event that cannot be read and is not imported; the others are. */
export interface RejectedEvent {
  /** Position in the calendar, from 1. */
  number: number;
  summary: string | null;
  message: string;
}

/** The days of a calendar, and its events that cannot be read, at most 100. */
export interface ParsedHolidays {
  holidays: Holiday[];
  rejected: RejectedEvent[];
  /** Zones of times that are unknown, at most 10; the zone of the schedule was used. */
  unknownZones: string[];
}

/** @source docs/decisions/0452-calendar-events.md */
const MAX_REJECTED = 100;
const MAX_UNKNOWN_ZONES = 10;
/** @source docs/decisions/0451-calendars.md, Limits */
const MAX_EVENTS = 5_000;
const MAX_OCCURRENCES = 20_000;
const MAX_HOLIDAYS = 1_000;
/** @source docs/decisions/0543-calendar-leniency.md, Limits */
const MAX_DATES_PER_EVENT = 1_000;
/** Changes of the rest of one series: each costs another look at its rule. @source docs/decisions/0624-changes-of-later-occurrences.md */
const MAX_LATER_CHANGES = 50;
const MAX_LENGTH_MS = 3_660 * DAY_MS;
const MAX_DESCRIPTION_LENGTH = 250;
const EARLIEST_START = Date.UTC(1900, 0, 1);
/** A rule is expanded in windows of this length, so that each takes a few ms. */
const WINDOW_MS = 7 * DAY_MS;
const MERGED_AT_ONCE = 200;

/** An event with its times as those of a wall clock, in the zone of the event or else of the schedule. */
interface DatedEvent {
  number: number;
  uid: string;
  summary: string;
  isCancelled: boolean;
  start: RuleTime;
  lengthMs: number;
  /** Zone of the wall clock. */
  timeZone: string;
  /** RRULE, RDATE and EXDATE. */
  recurrence: readonly CalendarProperty[];
  /** The occurrence of a series that it replaces, as a wall time of the series; null for an event by itself. */
  replaces: ((series: Pick<DatedEvent, "start" | "timeZone">) => RuleTime | null) | null;
  /** True if it changes the later occurrences as well. */
  changesLater: boolean;
}

/** Occurrences of a series from one on, as an event with RANGE=THISANDFUTURE changes them. */
interface LaterChange {
  /** Wall time of the series. */
  from: number;
  /** What later occurrences are moved by. */
  offsetMs: number;
  event: DatedEvent;
}

/** Changes of a series by other events. */
interface SeriesChanges {
  replaced: RuleTime[];
  /** Sorted by `from`. */
  later: LaterChange[];
}

/**
 * Reads the days of an iCalendar text within the span, sorted by date. Overlapping events are merged and keep the summary
 * of the first. Recurring events are expanded without their EXDATEs and changed occurrences; cancelled events are skipped.
 * An event with times of day counts for every day that it touches: by its own zone, or by that of the schedule if its times are
 * in UTC. Events that cannot be read are rejected one by one. Throws CallerError (`calendar`) if the text is no calendar, or if
 * none of its events can be read.
 * @source RFC 5545, section 3.8.5; docs/decisions/0451-calendars.md; docs/decisions/0452-calendar-events.md
 */
export async function parseHolidays(
  text: string,
  span: DateSpan,
  clock: Clock,
  zones: RuleZones,
): Promise<ParsedHolidays> {
  const slice = createTimeSlice(clock);
  const rejected: RejectedEvent[] = [];
  const unknownZones = new Set<string>();
  const rejectIfUnreadable = (error: unknown): void => {
    if (!(error instanceof EventError)) throw error;
    rejected.push(error.event);
  };
  let described: ReadonlyMap<string, string> | null = null;
  const describedZone = (name: string): string | null => {
    described ??= describedZones(text, span, zones);
    return described.get(name) ?? null;
  };
  const knownZone = withKnownZone(unknownZones, describedZone);
  const events: DatedEvent[] = [];
  let count = 0;
  for (const event of readEvents(text)) {
    if (slice.isOver()) await slice.next();
    if (event === null) continue;
    if (++count > MAX_EVENTS) throw calendarError(sentence("calendar.max-events", { limit: MAX_EVENTS }));
    try {
      events.push(dateEvent({ ...event, properties: event.properties.map(knownZone) }, zones));
    } catch (error) {
      rejectIfUnreadable(error);
    }
  }
  const changes = await changesOfSeries(events, slice);
  const found: Holiday[] = [];
  for (const event of events) {
    if (event.isCancelled) continue;
    const others = event.replaces === null ? changes.get(event.uid) : undefined;
    try {
      for await (const { as, localMs } of occurrencesOf(event, others ?? NO_CHANGES, span, zones, slice)) {
        const holiday = clipToSpan(toHoliday(as, localMs), span);
        const last = found.at(-1);
        // Several times on one day are one holiday.
        if (!holiday || (last && last.startDate === holiday.startDate && last.endDate === holiday.endDate)) continue;
        found.push(holiday);
        if (found.length > MAX_OCCURRENCES)
          throw calendarError(sentence("calendar.max-occurrences", { limit: MAX_OCCURRENCES }));
      }
    } catch (error) {
      rejectIfUnreadable(error);
    }
  }
  const [first] = rejected;
  if (first && rejected.length === count) throw calendarError(describeRejection(first));
  const holidays = await mergeHolidays(sortByDate(found), slice);
  if (holidays.length > MAX_HOLIDAYS) throw calendarError(sentence("calendar.max-holidays", { limit: MAX_HOLIDAYS }));
  return { holidays, rejected: rejected.slice(0, MAX_REJECTED), unknownZones: [...unknownZones] };
}

/** Properties with a zone of the database; those of a time whose zone is unknown are noted. */
function withKnownZone(
  unknown: Set<string>,
  describedZone: (name: string) => string | null,
): (property: CalendarProperty) => CalendarProperty {
  return (property) => {
    const { tzid, value } = property;
    const zone = tzid === null || isTimeZone(tzid) ? tzid : (zoneOfName(tzid) ?? describedZone(tzid));
    if (tzid === null || zone === tzid) return property;
    const isTime = /T\d/i.test(value) && !/Z\s*$/i.test(value);
    if (zone === null && isTime && unknown.size < MAX_UNKNOWN_ZONES) unknown.add(tzid.slice(0, MAX_DESCRIPTION_LENGTH));
    return { ...property, tzid: zone };
  };
}

/** A zone by another name: of Windows, in another case, or at the end of a path such as `/example.org/20260101/Europe/Berlin`. */
function zoneOfName(tzid: string): string | null {
  const windows = zoneOfWindowsName(tzid);
  if (windows !== null) return isTimeZone(windows) ? windows : null;
  const parts = tzid.split("/").filter(Boolean);
  for (const length of [3, 2, 1]) {
    const name = parts.slice(-length).join("/");
    if (parts.length >= length && isTimeZone(name)) return name;
  }
  return null;
}

function* readEvents(text: string): Generator<CalendarEvent | null> {
  try {
    yield* readCalendarEvents(text);
  } catch (error) {
    if (error instanceof CalendarSyntaxError) throw calendarError(error.message);
    throw error;
  }
}

/** The error of a calendar that is not imported. */
export function calendarError(message: string): CallerError {
  return invalidValue("calendar", message);
}

/** An event cannot be read. */
class EventError extends Error {
  readonly event: RejectedEvent;

  constructor({ number, summary }: Pick<DatedEvent, "number" | "summary">, message: string) {
    super(message);
    this.event = { number, summary: describe(summary), message };
  }
}

function describeRejection({ number, summary, message }: RejectedEvent): string {
  return summary === null
    ? sentence("calendar.event-rejected", { number, message })
    : sentence("calendar.named-event-rejected", { number, summary: summary.slice(0, 100), message });
}

function describe(summary: string): string | null {
  return [...summary].slice(0, MAX_DESCRIPTION_LENGTH).join("") || null;
}

function dateEvent({ number, properties, unreadable }: CalendarEvent, zones: RuleZones): DatedEvent {
  const property = (name: string): CalendarProperty | null => properties.find((each) => each.name === name) ?? null;
  const dates = properties.filter(({ name }) => name === "RDATE" || name === "EXDATE").map(({ value }) => value);
  const summary = (property("SUMMARY")?.value ?? "").trim();
  const fail = (message: string) => new EventError({ number, summary }, message);
  const [unread] = unreadable;
  if (unread !== undefined) throw fail(sentence("calendar.property-invalid", { name: unread.toUpperCase() }));
  if (property("EXRULE")) throw fail(sentence("calendar.exrule"));
  if (dates.join().split(",").length > MAX_DATES_PER_EVENT)
    throw fail(sentence("calendar.max-dates", { limit: MAX_DATES_PER_EVENT }));
  const startProperty = property("DTSTART");
  if (!startProperty) throw fail(sentence("calendar.no-dtstart"));
  const timeZone = isTimeZone(startProperty.tzid) ? startProperty.tzid : zones.timeZone;
  const wallTime = (given: CalendarProperty): RuleTime => {
    const time = wallTimeOf(given, given.value, timeZone, zones);
    if (!time) throw fail(sentence("calendar.date-invalid", { name: given.name }));
    return time;
  };
  const start = wallTime(startProperty);
  const [endProperty, duration] = [property("DTEND"), property("DURATION")];
  const lengthMs = endProperty
    ? wallTime(endProperty).localMs - start.localMs
    : duration
      ? durationMs(duration.value)
      : start.isDate
        ? DAY_MS
        : 0;
  if (lengthMs === null) throw fail(sentence("calendar.property-invalid", { name: "DURATION" }));
  if (lengthMs > MAX_LENGTH_MS) throw fail(sentence("calendar.too-long", { days: MAX_LENGTH_MS / DAY_MS }));
  const replaces = property("RECURRENCE-ID");
  if (replaces && replaces.range !== null && replaces.range !== "THISANDFUTURE") throw fail(sentence("calendar.range"));
  if (replaces) wallTime(replaces);
  return {
    ...{ number, summary, start, timeZone, lengthMs: Math.max(lengthMs, 0) },
    uid: property("UID")?.value ?? `${number}`,
    isCancelled: property("STATUS")?.value.toUpperCase() === "CANCELLED",
    recurrence: properties.filter(({ name }) => name === "RRULE" || name === "RDATE" || name === "EXDATE"),
    changesLater: replaces?.range === "THISANDFUTURE",
    replaces:
      replaces && ((series) => wallTimeOf(replaces, dayIfAllDay(replaces.value, series), series.timeZone, zones)),
  };
}

/** A value as time of a wall clock in `timeZone`; null if it is invalid. */
function wallTimeOf(
  { tzid }: CalendarProperty,
  value: string,
  timeZone: string,
  { zones }: RuleZones,
): RuleTime | null {
  const time = parseTime(value);
  const isElsewhere = isTimeZone(tzid) && tzid !== timeZone && time?.isDate === false;
  if (!time || !(time.isUtc || isElsewhere)) return time;
  const instant = time.isUtc ? time.localMs : zones.of(tzid as string).instantOf(time.localMs, DEFAULT_CLOCK_RULES);
  if (instant === null) return { ...time, isUtc: false };
  return { localMs: instant + zones.of(timeZone).offsetAt(instant), isDate: false, isUtc: false };
}

/** Null for an invalid duration; one that is negative is zero. @source RFC 5545, section 3.3.6 */
function durationMs(text: string): number | null {
  const match = /^([+-]?)P(?:(\d+)W|(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?)$/i.exec(text);
  if (!match || /P$|T$/i.test(text)) return null;
  const [sign, weeks, days, hours, minutes, seconds] = match.slice(1);
  if (sign === "-") return 0;
  const of = (part: string | undefined, ms: number): number => Number(part ?? 0) * ms;
  return of(weeks, 7 * DAY_MS) + of(days, DAY_MS) + of(hours, 3_600_000) + of(minutes, 60_000) + of(seconds, 1_000);
}

const NO_CHANGES: SeriesChanges = { replaced: [], later: [] };

/** Changes of series by other events, by UID. @source RFC 5545, sections 3.2.13 and 3.8.4.4 */
async function changesOfSeries(
  events: readonly DatedEvent[],
  slice: TimeSlice,
): Promise<ReadonlyMap<string, SeriesChanges>> {
  const series = new Map(events.filter(({ replaces }) => replaces === null).map((event) => [event.uid, event]));
  const changes = new Map<string, SeriesChanges>();
  for (const event of events) {
    const time = event.replaces?.(series.get(event.uid) ?? event);
    if (!time) continue;
    if (slice.isOver()) await slice.next();
    const known = changes.get(event.uid) ?? { replaced: [], later: [] };
    changes.set(event.uid, known);
    known.replaced.push(time);
    if (event.changesLater) known.later.push(laterChange(event, time, series.get(event.uid)));
  }
  for (const { later } of changes.values()) later.sort((one, other) => one.from - other.from);
  return changes;
}

/** `time` names the first changed occurrence; as a date it means the one on that day. */
function laterChange(event: DatedEvent, time: RuleTime, series: DatedEvent | undefined): LaterChange {
  const timeOfDay = time.isDate && series?.start.isDate === false ? modulo(series.start.localMs, DAY_MS) : 0;
  return { from: time.localMs, offsetMs: event.start.localMs - time.localMs - timeOfDay, event };
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}

/** The start of an occurrence as wall time, and the event whose length and summary it has. */
interface Occurrence {
  localMs: number;
  as: DatedEvent;
}

/** Occurrences of an event, one a day, within the span and the length of the event before it. */
async function* occurrencesOf(
  event: DatedEvent,
  { replaced, later }: SeriesChanges,
  span: DateSpan,
  zones: RuleZones,
  slice: TimeSlice,
): AsyncGenerator<Occurrence> {
  if (later.length > MAX_LATER_CHANGES)
    throw new EventError(event, sentence("calendar.max-later-changes", { limit: MAX_LATER_CHANGES }));
  const rule = parseRecurrence(recurrenceText(event, replaced, zones), { ...zones, earliestStart: EARLIEST_START });
  if (typeof rule === "string") throw new EventError(event, rule);
  const first = parseDayNumber(span.startDate) * DAY_MS;
  const end = (parseDayNumber(span.endDate) + 1) * DAY_MS;
  const parts = [{ from: Number.NEGATIVE_INFINITY, offsetMs: 0, event }, ...later];
  for (const [index, { from, offsetMs, event: as }] of parts.entries()) {
    // A change with an RRULE replaces the rest of the series; it is expanded by itself.
    const isOver = index > 0 && (as.isCancelled || as.recurrence.some(({ name }) => name === "RRULE"));
    if (isOver) continue;
    const begin = Math.max(from, first - as.lengthMs - offsetMs);
    const to = Math.min(parts[index + 1]?.from ?? Number.POSITIVE_INFINITY, end - offsetMs);
    for (let at = begin; at < to; at += WINDOW_MS) {
      for (const localMs of rule.daysBetween(at, Math.min(at + WINDOW_MS, to)))
        yield { localMs: localMs + offsetMs, as };
      if (slice.isOver()) await slice.next();
    }
  }
}

/** The recurrence of an event as RFC 5545 lines, all its dates as wall times in the zone of the event. */
function recurrenceText(
  { start, timeZone, recurrence, ...event }: DatedEvent,
  replaced: readonly RuleTime[],
  zones: RuleZones,
): string {
  const lines = recurrence.map(({ name, ...property }) => {
    if (name === "RRULE")
      return `RRULE:${property.value.replace(/(UNTIL=)([^;]*)/i, (_, key: string, value: string) => key + dayIfAllDay(value, { start }))}`;
    const values = property.value.split(",").map((value) => {
      const first = dayIfAllDay(value.split("/")[0] ?? "", { start });
      const time = wallTimeOf({ name, ...property }, first, timeZone, zones);
      if (!time) throw new EventError(event, sentence("calendar.date-invalid", { name }));
      return formatTime(time);
    });
    return `${name}:${values.join(",")}`;
  });
  const exclusions = replaced.map((time) => `EXDATE:${formatTime(time)}`);
  return [`DTSTART;TZID=${timeZone}:${formatTime(start)}`, ...lines, ...exclusions].join("\n");
}

/** Of an all-day event the first or last second of a day in UTC means that day: some programs write no dates. */
function dayIfAllDay(value: string, { start }: Pick<DatedEvent, "start">): string {
  return start.isDate ? value.replace(/^\s*(\d{8})T(000000|235959)Z\s*$/i, "$1") : value;
}

function formatTime({ localMs, isDate }: RuleTime): string {
  const text = new Date(localMs).toISOString().replace(/[-:]|\.\d+Z$/g, "");
  return isDate ? text.slice(0, 8) : text;
}

function toHoliday({ summary, lengthMs }: DatedEvent, localMs: number): Holiday {
  const description = describe(summary);
  // The end is exclusive: an end at midnight means the day before.
  const last = Math.max(dayOf(localMs), dayOf(localMs + lengthMs - 1));
  return { startDate: formatDayNumber(dayOf(localMs)), endDate: formatDayNumber(last), description };
}

function dayOf(localMs: number): number {
  return Math.floor(localMs / DAY_MS);
}

function clipToSpan(holiday: Holiday, { startDate, endDate }: DateSpan): Holiday | null {
  if (holiday.endDate < startDate || holiday.startDate > endDate) return null;
  const first = holiday.startDate < startDate ? startDate : holiday.startDate;
  return { ...holiday, startDate: first, endDate: holiday.endDate > endDate ? endDate : holiday.endDate };
}

async function mergeHolidays(holidays: readonly Holiday[], slice: TimeSlice): Promise<Holiday[]> {
  const all: Holiday[] = [];
  for (const [at, holiday] of holidays.entries()) {
    if (at % MERGED_AT_ONCE === 0) if (slice.isOver()) await slice.next();
    const last = all.at(-1);
    const follows = last && parseDayNumber(last.endDate) + 1 === parseDayNumber(holiday.startDate);
    if (last && ((follows && last.description === holiday.description) || holiday.startDate <= last.endDate)) {
      if (holiday.endDate > last.endDate) last.endDate = holiday.endDate;
    } else all.push({ ...holiday });
  }
  return all;
}
