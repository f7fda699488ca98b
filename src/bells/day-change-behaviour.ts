import { ConflictError, invalidValue, requiredValue } from "../base/errors.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import type dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Behaviour, By, Reader, Transaction } from "../store/store.ts";
import { exceptionsOf } from "./bell-schedule-behaviour.ts";
import { dayAfter, requireSpan } from "./calendar-days.ts";
import { chosenSchedules, putExceptions } from "./chosen-schedules.ts";
import { changeDays, type DayChange, takeBack } from "./day-changes.ts";
import { readTime, timeOf } from "./local-times.ts";

type DayChangeRow = RowOf<typeof dayChanges>;

/** own choice */
const MOST_DAYS = 366;

/** Changes the days of the chosen schedules with its row, and takes that back when the row goes. own choice */
export const dayChangeBehaviour: Behaviour<typeof dayChanges> = {
  beforeWrite({ op, before, after }, tx, by) {
    if (op === "create" && after) {
      const change = readDayChange(after, tx, by);
      if (after.allBellSchedules) after.bellScheduleIds = [];
      after.schedulesAffected = chosenSchedules(after, change, tx, by).flatMap((row) => {
        const changed = changeDays(row, change);
        return changed ? [putExceptions(row, changed, tx, by)] : [];
      });
      after.endsAt = Date.parse(`${dayAfter(change.endDate, 1)}T12:00:00Z`);
      after.actingDomainId = by.scope.domainId;
    } else if (op === "delete" && before) takeBackAll(before, tx, by);
  },
};

/** What a row asks for; `after` gets its times in one spelling. Throws CallerError. */
function readDayChange(after: DayChangeRow, reader: Reader, by: By): DayChange {
  after.endDate ??= after.startDate;
  requireSpan({ startDate: after.startDate, endDate: after.endDate });
  if (after.endDate >= dayAfter(after.startDate, MOST_DAYS))
    throw invalidValue("endDate", `At most ${MOST_DAYS} days.`);
  readTimes(after);
  const { id, startDate, endDate, description } = after;
  const span = { id, startDate, endDate, description };
  switch (after.kind) {
    case "no-bells":
      return { ...span, kind: "ring-list", ringListId: null };
    case "other-day":
      return { ...span, ...otherDay(after, reader, by) };
    case "delay":
      if (after.minutes === null) throw requiredValue("minutes");
      return { ...span, kind: "changes", on: () => `delay ${after.minutes}` };
    case "early-dismissal":
      if (after.until === null) throw requiredValue("until");
      return { ...span, kind: "changes", on: () => `end ${after.until}` };
    default:
      return { ...span, kind: "changes", on: readMute(after, span) };
  }
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

/** Throws ConflictError while a later change stands above it. */
function takeBackAll({ id }: DayChangeRow, tx: Transaction, by: By): void {
  const holding = tx.all<{ pk: number }>(
    `SELECT pk FROM ${tableOf(bellSchedules)} WHERE instr(bell_schedule_exceptions, ?) > 0`,
    id,
  );
  const rows = tx.byPks(
    bellSchedules,
    holding.map(({ pk }) => pk),
  );
  for (const row of rows) {
    const back = takeBack(exceptionsOf(row), id);
    if (back === "covered")
      throw new ConflictError("A later change of these days stands above it. Take that back first.");
    putExceptions(row, back, tx, by);
  }
}
