import type { BellScheduleException } from "../resources/bells/bell-parts.ts";
import { dayAfter } from "./calendar-days.ts";
import type { ToldRing } from "./told-rings.ts";

/** What a calendar of rings is made of. */
export interface Calendar {
  name: string;
  /** Epoch ms at which it is made. */
  now: number;
  rings: readonly ToldRing[];
  /** Names of messages and ring lists, by id. */
  names: ReadonlyMap<string, string>;
  /** Days without bells. */
  silences: readonly BellScheduleException[];
}

/** How often programs should ask again. own choice */
const REFRESH = "PT1H";
/** Octets of a line. @source RFC 5545 §3.1 */
const LINE_OCTETS = 75;
/** Events between two turns of the event loop. */
const EVENTS_AT_ONCE = 500;

/** The text of an iCalendar object, in pieces. @source RFC 5545; RFC 7986 */
export function* calendarText(calendar: Calendar): Generator<string> {
  yield lines([
    ["BEGIN", "VCALENDAR"],
    ["VERSION", "2.0"],
    ["PRODID", "-//Carillon//Bells//EN"],
    ["CALSCALE", "GREGORIAN"],
    ["METHOD", "PUBLISH"],
    ["NAME", escaped(calendar.name)],
    ["X-WR-CALNAME", escaped(calendar.name)],
    ["REFRESH-INTERVAL;VALUE=DURATION", REFRESH],
    ["X-PUBLISHED-TTL", REFRESH],
  ]);
  const stamp = utc(calendar.now);
  yield calendar.silences.map((exception) => silenceEvent(exception, stamp)).join("");
  for (let at = 0; at < calendar.rings.length; at += EVENTS_AT_ONCE) {
    const rings = calendar.rings.slice(at, at + EVENTS_AT_ONCE);
    yield rings.map((ring) => ringEvent(ring, calendar, stamp)).join("");
  }
  yield lines([["END", "VCALENDAR"]]);
}

function ringEvent(ring: ToldRing, { names }: Calendar, stamp: string): string {
  const message = names.get(ring.messageTemplateId ?? "") ?? "Bell";
  const list = names.get(ring.ringListId ?? "");
  return lines([
    ["BEGIN", "VEVENT"],
    ["UID", `${ring.id}@carillon`],
    ["DTSTAMP", stamp],
    ["DTSTART", utc(ring.at)],
    ["DURATION", "PT1M"],
    ["SUMMARY", escaped(message)],
    ...(list === undefined ? [] : ([["DESCRIPTION", escaped(list)]] as const)),
    ["STATUS", ring.state === "skipped" ? "CANCELLED" : "CONFIRMED"],
    ["TRANSP", "TRANSPARENT"],
    ["END", "VEVENT"],
  ]);
}

function silenceEvent({ id, startDate, endDate, description }: BellScheduleException, stamp: string): string {
  return lines([
    ["BEGIN", "VEVENT"],
    ["UID", `${id}@carillon`],
    ["DTSTAMP", stamp],
    ["DTSTART;VALUE=DATE", startDate.replaceAll("-", "")],
    ["DTEND;VALUE=DATE", dayAfter(endDate, 1).replaceAll("-", "")],
    ["SUMMARY", escaped(description ?? "No bells")],
    ["TRANSP", "TRANSPARENT"],
    ["END", "VEVENT"],
  ]);
}

function lines(all: readonly (readonly [name: string, value: string])[]): string {
  return all.map(([name, value]) => `${folded(`${name}:${value}`)}\r\n`).join("");
}

/** Epoch ms as `20310901T060000Z`. */
function utc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\;,]/g, "\\$&").replaceAll(/\r?\n/g, "\\n");
}

/** Long lines go on in the next one after a blank; no character is cut. */
function folded(line: string): string {
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
