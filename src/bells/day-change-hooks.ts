import type { Clock } from "../lib/clock.ts";
import { ConflictError, invalidValue, requiredValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { RingListEntry } from "../resources/bells/bell-fields.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import { tableName } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, ResourceHooks, StoreReader } from "../store/store.ts";
import { scheduleExceptionsOf } from "./bell-schedule-hooks.ts";
import { createBulkChange, type ExceptionEdit, revertBulkChange } from "./bulk-change-job.ts";
import { addDays, assertValidDateSpan } from "./date-span.ts";
import { applyDayChange, type DayChange, revertDayChange } from "./day-changes.ts";
import { formatSecondOfDay, parseSecondOfDay } from "./local-time.ts";
import { formatRingListChange } from "./ring-list-changes.ts";

type DayChangeRow = RowOf<typeof dayChanges>;

/** @source docs/decisions/0200-bell-engine-limits.md, Limits */
const MAX_DAYS = 366;

/** Applies a day change to the selected schedules after its row is stored and reverts it before the row is deleted. */
export function dayChangeHooks({ clock }: { clock: Clock }): ResourceHooks<typeof dayChanges> {
  return {
    beforeWrite({ op, after }, tx, by) {
      if (op !== "create" || !after) return;
      const change = parseDayChange(after, tx, by);
      if (after.allBellSchedules) after.bellScheduleIds = [];
      after.endsAt = Date.parse(`${addDays(change.endDate, 1)}T12:00:00Z`);
      after.actingDomainId = by.scope.domainId;
    },
    createInChunks: (input, by, store) =>
      createBulkChange({ resource: dayChanges, read: dayChangeEdit }, input, by, { store, clock }),
    removeInChunks: (id, by, store, check) =>
      revertBulkChange({ resource: dayChanges, id, changed: dayChangeRevertEdit(id) }, by, { store, clock }, check),
  };
}

/** The exceptions of a schedule after a day change. Throws CallerError. */
export function dayChangeEdit(row: DayChangeRow, reader: StoreReader, by: ActorContext): ExceptionEdit {
  const change = parseDayChange(row, reader, by);
  return (schedule) => applyDayChange(schedule, change);
}

/** The exceptions of a schedule after a day change is reverted. Throws ConflictError if a later change overlaps it. */
export function dayChangeRevertEdit(dayChangeId: string): ExceptionEdit {
  return (schedule) => {
    const back = revertDayChange(scheduleExceptionsOf(schedule), dayChangeId);
    if (back === "covered")
      throw new ConflictError(
        sentence("error.a-later-change-of-these-days-overlaps-this-one-revert-the-later-change-first"),
      );
    return back;
  };
}

/** Parses a row and normalizes its times. Throws CallerError. */
function parseDayChange(row: DayChangeRow, reader: StoreReader, by: ActorContext): DayChange {
  row.endDate ??= row.startDate;
  assertValidDateSpan({ startDate: row.startDate, endDate: row.endDate });
  if (row.endDate >= addDays(row.startDate, MAX_DAYS))
    throw invalidValue(
      "endDate",
      sentence("field.must-be-at-most-days-days-after-startdate-both-included", { days: MAX_DAYS }),
    );
  normalizeTimes(row);
  const { id, startDate, endDate, description } = row;
  const span = { id, startDate, endDate, description };
  switch (row.kind) {
    case "no-bells":
      return { ...span, kind: "ring-list", ringListId: null };
    case "other-day":
      return { ...span, ...parseOtherDay(row, reader, by) };
    case "delay":
      if (row.minutes === null) throw requiredValue("minutes");
      return { ...span, kind: "changes", on: () => `delay ${row.minutes}` };
    case "early-dismissal":
      if (row.until === null) throw requiredValue("until");
      return { ...span, kind: "changes", on: () => `end ${row.until}` };
    case "move-ring":
      return { ...span, kind: "changes", on: parseMove(row, reader, by) };
    default:
      return { ...span, kind: "changes", on: parseMute(row, span) };
  }
}

/** Moves a ring on the days whose ring list contains it. */
function parseMove({ entryId, until }: DayChangeRow, reader: StoreReader, by: ActorContext) {
  if (entryId === null) throw requiredValue("entryId");
  if (until === null) throw requiredValue("until");
  const held = reader.all<{ id: string }>(
    `SELECT id FROM ${tableName(ringLists)} WHERE instr(entries, ?) > 0`,
    entryId,
  );
  const lists = held.flatMap(({ id }) => reader.get(ringLists, id, by.scope) ?? []);
  const own = lists.find(({ entries }) => (entries as RingListEntry[]).some(({ id }) => id === entryId));
  if (!own)
    throw invalidValue("entryId", sentence("field.the-ring-ring-was-not-found-in-any-ring-list", { ring: entryId }));
  const text = formatRingListChange({ kind: "move", entryId, second: parseSecondOfDay(until) ?? 0 });
  return (_day: string, ringListId: string): string | null => (ringListId === own.id ? text : null);
}

function parseOtherDay(
  { ringListId, likeDate }: DayChangeRow,
  reader: StoreReader,
  by: ActorContext,
): { kind: "ring-list"; ringListId: string } | { kind: "like"; date: string } {
  if ((ringListId === null) === (likeDate === null)) {
    throw ringListId === null
      ? requiredValue("ringListId")
      : invalidValue("likeDate", sentence("field.must-not-be-combined-with-ringlistid"));
  }
  if (likeDate !== null) return { kind: "like", date: likeDate };
  const id = ringListId as string;
  if (!reader.get(ringLists, id, by.scope))
    throw invalidValue("ringListId", sentence("field.no-ring-list-with-the-id-id-was-found", { id }));
  return { kind: "ring-list", ringListId: id };
}

function parseMute(after: DayChangeRow, { startDate, endDate }: { startDate: string; endDate: string }) {
  after.from ??= "00:00:00";
  const { from, until, kind } = after;
  if (until === null) throw requiredValue("until");
  const daily = kind === "mute-hours";
  if ((daily || startDate === endDate) && until <= from)
    throw invalidValue("until", sentence("field.must-be-after-from"));
  return (day: string): string | null => {
    const begin = daily || day === startDate ? from : "00:00:00";
    const end = daily || day === endDate ? until : "24:00:00";
    return begin < end ? `mute ${begin} ${end}` : null;
  };
}

/** Normalizes the times; 24:00:00 is allowed as the end of a mute. */
function normalizeTimes(row: DayChangeRow): void {
  for (const field of ["from", "until"] as const) {
    const text = row[field];
    if (text === null) continue;
    const isEnd = field === "until" && row.kind.startsWith("mute") && /^24:00(:00)?$/.test(text);
    const seconds = parseSecondOfDay(text);
    if (seconds === null && !isEnd) throw invalidValue(field, sentence("field.must-be-a-time-of-day-such-as-07-45-00"));
    row[field] = seconds === null ? "24:00:00" : formatSecondOfDay(seconds);
  }
}
