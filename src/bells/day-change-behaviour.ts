import type { Clock } from "../base/clock.ts";
import { ConflictError, invalidValue, requiredValue } from "../base/errors.ts";
import type { RingListEntry } from "../resources/bells/bell-parts.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Behaviour, By, Reader } from "../store/store.ts";
import { exceptionsOf } from "./bell-schedule-behaviour.ts";
import { dayAfter, requireSpan } from "./calendar-days.ts";
import { changeDays, type DayChange, takeBack } from "./day-changes.ts";
import { readTime, timeOf } from "./local-times.ts";
import { changeText } from "./ring-list-changes.ts";
import { type ExceptionChange, makeChange, takeChangeBack } from "./sliced-changes.ts";

type DayChangeRow = RowOf<typeof dayChanges>;

/** own choice */
const MOST_DAYS = 366;

/** Changes the days of the chosen schedules after its row, and takes that back before the row goes. own choice */
export function dayChangeBehaviour({ clock }: { clock: Clock }): Behaviour<typeof dayChanges> {
  return {
    beforeWrite({ op, after }, tx, by) {
      if (op !== "create" || !after) return;
      const change = readDayChange(after, tx, by);
      if (after.allBellSchedules) after.bellScheduleIds = [];
      after.endsAt = Date.parse(`${dayAfter(change.endDate, 1)}T12:00:00Z`);
      after.actingDomainId = by.scope.domainId;
    },
    createInSlices: (input, by, store) =>
      makeChange({ resource: dayChanges, read: exceptionsWith }, input, by, { store, clock }),
    removeInSlices: (id, by, store, check) =>
      takeChangeBack({ resource: dayChanges, id, changed: exceptionsWithout(id) }, by, { store, clock }, check),
  };
}

/** The exceptions of a schedule with a day change. Throws CallerError. */
export function exceptionsWith(row: DayChangeRow, reader: Reader, by: By): ExceptionChange {
  const change = readDayChange(row, reader, by);
  return (schedule) => changeDays(schedule, change);
}

/** The exceptions of a schedule once a day change is taken back; throws ConflictError while a later one stands above it. */
export function exceptionsWithout(dayChangeId: string): ExceptionChange {
  return (schedule) => {
    const back = takeBack(exceptionsOf(schedule), dayChangeId);
    if (back === "covered")
      throw new ConflictError("A later change of these days stands above it. Take that back first.");
    return back;
  };
}

/** What a row asks for; it gets its times in one spelling. Throws CallerError. */
function readDayChange(row: DayChangeRow, reader: Reader, by: By): DayChange {
  row.endDate ??= row.startDate;
  requireSpan({ startDate: row.startDate, endDate: row.endDate });
  if (row.endDate >= dayAfter(row.startDate, MOST_DAYS)) throw invalidValue("endDate", `At most ${MOST_DAYS} days.`);
  readTimes(row);
  const { id, startDate, endDate, description } = row;
  const span = { id, startDate, endDate, description };
  switch (row.kind) {
    case "no-bells":
      return { ...span, kind: "ring-list", ringListId: null };
    case "other-day":
      return { ...span, ...otherDay(row, reader, by) };
    case "delay":
      if (row.minutes === null) throw requiredValue("minutes");
      return { ...span, kind: "changes", on: () => `delay ${row.minutes}` };
    case "early-dismissal":
      if (row.until === null) throw requiredValue("until");
      return { ...span, kind: "changes", on: () => `end ${row.until}` };
    case "move-ring":
      return { ...span, kind: "changes", on: readMove(row, reader, by) };
    default:
      return { ...span, kind: "changes", on: readMute(row, span) };
  }
}

/** Moves a ring on the days that have it. */
function readMove({ entryId, until }: DayChangeRow, reader: Reader, by: By) {
  if (entryId === null) throw requiredValue("entryId");
  if (until === null) throw requiredValue("until");
  const held = reader.all<{ id: string }>(`SELECT id FROM ${tableOf(ringLists)} WHERE instr(entries, ?) > 0`, entryId);
  const lists = held.flatMap(({ id }) => reader.get(ringLists, id, by.scope) ?? []);
  const own = lists.find(({ entries }) => (entries as RingListEntry[]).some(({ id }) => id === entryId));
  if (!own) throw invalidValue("entryId", `No ring list has the ring ${entryId}.`);
  const text = changeText({ kind: "move", entryId, second: readTime(until) ?? 0 });
  return (_day: string, ringListId: string): string | null => (ringListId === own.id ? text : null);
}

function otherDay(
  { ringListId, likeDate }: DayChangeRow,
  reader: Reader,
  by: By,
): { kind: "ring-list"; ringListId: string } | { kind: "like"; date: string } {
  if ((ringListId === null) === (likeDate === null)) {
    throw ringListId === null ? requiredValue("ringListId") : invalidValue("likeDate", "Give it or ringListId.");
  }
  if (likeDate !== null) return { kind: "like", date: likeDate };
  const id = ringListId as string;
  if (!reader.get(ringLists, id, by.scope)) throw invalidValue("ringListId", `There is none with the id ${id}.`);
  return { kind: "ring-list", ringListId: id };
}

function readMute(after: DayChangeRow, { startDate, endDate }: { startDate: string; endDate: string }) {
  after.from ??= "00:00:00";
  const { from, until, kind } = after;
  if (until === null) throw requiredValue("until");
  const daily = kind === "mute-hours";
  if ((daily || startDate === endDate) && until <= from) throw invalidValue("until", "It does not lie after from.");
  return (day: string): string | null => {
    const begin = daily || day === startDate ? from : "00:00:00";
    const end = daily || day === endDate ? until : "24:00:00";
    return begin < end ? `mute ${begin} ${end}` : null;
  };
}

/** Brings the times into one spelling; the end of the day is one where bells are muted until then. */
function readTimes(row: DayChangeRow): void {
  for (const field of ["from", "until"] as const) {
    const text = row[field];
    if (text === null) continue;
    const isEnd = field === "until" && row.kind.startsWith("mute") && /^24:00(:00)?$/.test(text);
    const seconds = readTime(text);
    if (seconds === null && !isEnd) throw invalidValue(field, "It is a time of day such as 07:45:00.");
    row[field] = seconds === null ? "24:00:00" : timeOf(seconds);
  }
}
