import type { BellScheduleException } from "../resources/bells/bell-fields.ts";
import { addDays } from "./date-span.ts";
import type { RingDto } from "./ring-dto.ts";

export interface RingCalendar {
  name: string;
  /** Epoch ms of creation. */
  now: number;
  rings: readonly RingDto[];
  /** Names of templates and ring lists, by id. */
  names: ReadonlyMap<string, string>;
  /** Exceptions without bells. */
  silentDays: readonly BellScheduleException[];
}

/** Refresh interval that clients should use. @source docs/decisions/0200-bell-engine-limits.md, Calendars */
const REFRESH = "PT1H";
/** Maximum octets of a line. @source RFC 5545 §3.1 */
const LINE_OCTETS = 75;
/** Events per chunk; the event loop runs between chunks. */
const EVENTS_PER_CHUNK = 500;

/** iCalendar text in chunks. @source RFC 5545; RFC 7986 */
export function* writeICalendar(calendar: RingCalendar): Generator<string> {
  yield formatLines([
    ["BEGIN", "VCALENDAR"],
    ["VERSION", "2.0"],
    ["PRODID", "-//Carillon//Bells//EN"],
    ["CALSCALE", "GREGORIAN"],
    ["METHOD", "PUBLISH"],
    ["NAME", escapeICalText(calendar.name)],
    ["X-WR-CALNAME", escapeICalText(calendar.name)],
    ["REFRESH-INTERVAL;VALUE=DURATION", REFRESH],
    ["X-PUBLISHED-TTL", REFRESH],
  ]);
  const stamp = formatUtc(calendar.now);
  yield calendar.silentDays.map((exception) => silentDayEvent(exception, stamp)).join("");
  for (let at = 0; at < calendar.rings.length; at += EVENTS_PER_CHUNK) {
    const rings = calendar.rings.slice(at, at + EVENTS_PER_CHUNK);
    yield rings.map((ring) => ringEvent(ring, calendar, stamp)).join("");
  }
  yield formatLines([["END", "VCALENDAR"]]);
}

function ringEvent(ring: RingDto, { names }: RingCalendar, stamp: string): string {
  const message = names.get(ring.messageTemplateId ?? "") ?? "Bell";
  const list = names.get(ring.ringListId ?? "");
  return formatLines([
    ["BEGIN", "VEVENT"],
    ["UID", `${ring.id}@carillon`],
    ["DTSTAMP", stamp],
    ["DTSTART", formatUtc(ring.at)],
    ["DURATION", "PT1M"],
    ["SUMMARY", escapeICalText(message)],
    ...(list === undefined ? [] : ([["DESCRIPTION", escapeICalText(list)]] as const)),
    ["STATUS", ring.state === "skipped" ? "CANCELLED" : "CONFIRMED"],
    ["TRANSP", "TRANSPARENT"],
    ["END", "VEVENT"],
  ]);
}

function silentDayEvent({ id, startDate, endDate, description }: BellScheduleException, stamp: string): string {
  return formatLines([
    ["BEGIN", "VEVENT"],
    ["UID", `${id}@carillon`],
    ["DTSTAMP", stamp],
    ["DTSTART;VALUE=DATE", startDate.replaceAll("-", "")],
    ["DTEND;VALUE=DATE", addDays(endDate, 1).replaceAll("-", "")],
    ["SUMMARY", escapeICalText(description ?? "No bells")],
    ["TRANSP", "TRANSPARENT"],
    ["END", "VEVENT"],
  ]);
}

function formatLines(all: readonly (readonly [name: string, value: string])[]): string {
  return all.map(([name, value]) => `${foldLine(`${name}:${value}`)}\r\n`).join("");
}

/** Epoch ms as `20310901T060000Z`. */
function formatUtc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

function escapeICalText(text: string): string {
  return text.replaceAll(/[\\;,]/g, "\\$&").replaceAll(/\r?\n/g, "\\n");
}

/** Folds long lines: continuation lines begin with a space, and no UTF-8 character is split. */
function foldLine(line: string): string {
  if (Buffer.byteLength(line) <= LINE_OCTETS) return line;
  const parts: string[] = [];
  let part = "";
  let octets = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (octets + size > LINE_OCTETS) {
      parts.push(part);
      part = " ";
      octets = 1;
    }
    part += character;
    octets += size;
  }
  return [...parts, part].join("\r\n");
}
