import ICAL from "ical.js";
import { sentence } from "../lib/sentences/sentences.ts";

/** One VEVENT of a calendar: its properties in order. */
export interface CalendarEvent {
  /** Position in the calendar, from 1. */
  number: number;
  properties: readonly CalendarProperty[];
  /** Names of properties that cannot be read and are left out. */
  unreadable: readonly string[];
}

/** A property that decides on days; `value` is the raw text, of SUMMARY without escapes. */
export interface CalendarProperty {
  name: string;
  /** TZID; null if absent. */
  tzid: string | null;
  value: string;
  /** RANGE in capitals; null if absent. */
  range: string | null;
}

/** Error of a text that is no calendar; the message is for the caller. */
export class CalendarSyntaxError extends Error {}

/** Others, such as alarms and attendees, are not read. */
const READ_PROPERTIES = /^(UID|DTSTART|DTEND|DURATION|RRULE|EXRULE|RDATE|EXDATE|RECURRENCE-ID|SUMMARY|STATUS)\s*[;:]/i;
/** Properties that count as absent if they are empty. */
const MAY_BE_EMPTY = /^(DTEND|DURATION|RDATE|EXDATE|RECURRENCE-ID|STATUS)$/;
/** An event with more is no holiday. @source docs/decisions/0451-calendars.md, Limits */
const MAX_EVENT_LENGTH = 262_144;

/** Longest property, for a list of 5,000 dates, and its longest name with parameters: ical.js takes 10 ms for either. */
const MAX_PROPERTY_LENGTH = 100_000;
const MAX_NAME_LENGTH = 5_000;
/** Lines and characters read without a pause: about 1 ms. */
const LINES_PER_STEP = 2_000;
const LENGTH_PER_STEP = 20_000;

/**
 * Reads the events of an iCalendar text one by one, so that a large calendar can be read in slices; null where the work may
 * pause, too. A byte order mark,
 * other line ends, folded lines and events without VCALENDAR are accepted. Throws CalendarSyntaxError. @source RFC 5545, section 3.1
 */
export function* readCalendarEvents(text: string): Generator<CalendarEvent | null> {
  const body = text.replace(/^\uFEFF/, "").trim();
  if (body === "") throw new CalendarSyntaxError(sentence("field.must-not-be-empty"));
  const open: string[] = [];
  let number = 0;
  let event: string[] = [];
  let length = 0;
  let hasCalendar = false;
  for (const line of unfoldedLines(body)) {
    if (line === null) {
      yield null;
      continue;
    }
    const [, mark, named = ""] = /^(BEGIN|END):\s*([A-Za-z0-9-]+)\s*$/i.exec(line) ?? [];
    const name = named.toUpperCase();
    if (mark?.toUpperCase() === "BEGIN") {
      if (open.length === 0 && name !== "VCALENDAR" && name !== "VEVENT")
        throw new CalendarSyntaxError(name === "" ? INVALID : sentence("calendar.no-vcalendar"));
      hasCalendar = true;
      open.push(name);
      if (name === "VEVENT") [event, length] = [[], 0];
    } else if (mark) {
      if (open.pop() !== name) throw new CalendarSyntaxError(INVALID);
      if (name === "VEVENT") yield* parseEvent(++number, event);
    } else if (open.length === 0) {
      if (line.trim() !== "") throw new CalendarSyntaxError(INVALID);
    } else if (open.at(-1) === "VEVENT" && READ_PROPERTIES.test(line)) {
      length += line.length;
      if (length > MAX_EVENT_LENGTH)
        throw new CalendarSyntaxError(sentence("calendar.event-too-large", { number: number + 1 }));
      event.push(line);
    }
  }
  if (!hasCalendar) throw new CalendarSyntaxError(INVALID);
  const last = open.at(-1);
  if (last !== undefined) throw new CalendarSyntaxError(sentence("calendar.cut-off", { name: last }));
}

const INVALID = sentence("field.must-be-an-icalendar-text-rfc-5545");

/** A line that begins with a space or tab continues the one before. */
function* unfoldedLines(text: string): Generator<string | null> {
  let parts: string[] = [];
  let lines = 0;
  for (const [line] of text.matchAll(/[^\r\n]*(?:\r\n|\n|\r|$)/g)) {
    if (++lines % LINES_PER_STEP === 0) yield null;
    const content = line.replace(/[\r\n]+$/, "");
    if (/^[ \t]/.test(content) && parts.length > 0) parts.push(content.slice(1));
    else {
      if (parts.length > 0) yield parts.join("");
      parts = [content];
    }
  }
  if (parts.length > 0) yield parts.join("");
}

function* parseEvent(number: number, lines: readonly string[]): Generator<CalendarEvent | null> {
  const properties: (CalendarProperty | null)[] = [];
  let length = 0;
  for (const line of lines) {
    properties.push(parseProperty(line));
    length += line.length + LENGTH_PER_STEP / 100;
    if (length < LENGTH_PER_STEP) continue;
    length = 0;
    yield null;
  }
  const unreadable = lines
    .filter((_, index) => properties[index] === null)
    .map((line) => line.split(/[;:]/, 1)[0] ?? "");
  const isKept = (property: CalendarProperty | null): property is CalendarProperty =>
    property !== null && !(property.value === "" && MAY_BE_EMPTY.test(property.name));
  yield { number, unreadable, properties: properties.filter(isKept) };
}

/** Null for a line that does not follow RFC 5545. */
function parseProperty(written: string): CalendarProperty | null {
  const at = valueStart(written);
  if (written.length > MAX_PROPERTY_LENGTH || at > MAX_NAME_LENGTH) return null;
  const value = withoutDashes(written.slice(at));
  const given = /^RRULE/i.test(written) ? tidyRule(value) : value;
  const line = /^(UID|SUMMARY)/i.test(written) ? written : written.slice(0, at) + given;
  let parsed: unknown;
  try {
    parsed = ICAL.parse.property(line);
  } catch {
    return null;
  }
  const [name, { tzid, range }, type, content] = parsed as [string, Record<string, unknown>, string, unknown];
  return {
    name: name.toUpperCase(),
    tzid: typeof tzid === "string" ? tzid : null,
    range: range === undefined ? null : String(range).toUpperCase(),
    value: type === "text" ? String(content) : line.slice(valueStart(line)).trim(),
  };
}

/**
 * A rule without the blanks and quotes that some programs write, in the capitals that ical.js needs. RSCALE=GREGORIAN says what
 * holds anyway; other calendars are refused. @source RFC 7529, section 4
 */
function tidyRule(value: string): string {
  const parts = value.toUpperCase().replace(/["\s]/g, "").split(";");
  const isGregorian = !parts.some((part) => part.startsWith("SKIP="));
  return parts.filter((part) => part !== "" && !(isGregorian && part === "RSCALE=GREGORIAN")).join(";");
}

/** Dates such as 2026-12-23 or 2026-12-23T08:00:00Z, which some programs write, in the form of RFC 5545. */
function withoutDashes(value: string): string {
  return value.replace(/(?<!\d)(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d))?/g, (_, year, month, day, ...time) => {
    const [hour, minute, second] = time;
    return hour === undefined ? `${year}${month}${day}` : `${year}${month}${day}T${hour}${minute}${second}`;
  });
}

/** Position after the first colon outside quotes. */
function valueStart(line: string): number {
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === '"') isQuoted = !isQuoted;
    else if (line[at] === ":" && !isQuoted) return at + 1;
  }
  return line.length;
}
