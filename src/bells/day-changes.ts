import { newId } from "../lib/ids.ts";
import type { BellScheduleException } from "../resources/bells/bell-fields.ts";
import { UTC_ONLY } from "../time-zones/time-zones.ts";
import { type BellScheduleRow, cycleEntriesOf, scheduleExceptionsOf } from "./bell-schedule-hooks.ts";
import { addDays, type DateSpan, daysBetween } from "./date-span.ts";
import { parseDayNumber } from "./local-time.ts";
import { exceptionOnDay, insertException } from "./schedule-exceptions.ts";
import { compileSchedule } from "./schedule-expansion.ts";

/** Replaces some days by another ring list (null: silent), repeats another day, or changes the ring list of each day. */
export type DayChange = DateSpan & { id: string; description: string | null } & (
    | { kind: "ring-list"; ringListId: string | null }
    | { kind: "like"; date: string }
    /** Null for a day that does not change. */
    | { kind: "changes"; on(day: string, ringListId: string): string | null }
  );

/** What rings on a day. */
type DayPlan = Pick<BellScheduleException, "ringListId" | "ringListChanges">;

/** The exceptions of a schedule after a day change, sorted by date; null if nothing changes. Pure except for new ids. */
export function applyDayChange(row: BellScheduleRow, change: DayChange): BellScheduleException[] | null {
  const planOn = createDayPlanLookup(row);
  const first = change.startDate < row.startDate ? row.startDate : change.startDate;
  const last = change.endDate > row.endDate ? row.endDate : change.endDate;
  const added: BellScheduleException[] = [];
  for (const day of daysBetween(first, last)) {
    const before = planOn(day);
    const plan = changedPlan(before, change, day, planOn);
    if (!plan || isSameDayPlan(before, plan)) continue;
    const instead = exceptionOnDay(scheduleExceptionsOf(row), day);
    const { id: dayChangeId, description } = change;
    appendDay(added, { ...plan, id: newId(), startDate: day, endDate: day, description, dayChangeId, instead });
  }
  return added.length === 0 ? null : added.reduce(insertException, [...scheduleExceptionsOf(row)]);
}

/** Appends a day; extends the previous exception if that rings the same for the same reason. */
function appendDay(added: BellScheduleException[], next: BellScheduleException): void {
  const last = added.at(-1);
  const follows = last && addDays(last.endDate, 1) === next.startDate;
  if (follows && isSameDayPlan(last, next) && last.instead?.id === next.instead?.id) last.endDate = next.endDate;
  else added.push(next);
}

function changedPlan(
  before: DayPlan,
  change: DayChange,
  day: string,
  planOn: (day: string) => DayPlan,
): DayPlan | null {
  if (change.kind === "ring-list") return { ringListId: change.ringListId, ringListChanges: [] };
  if (change.kind === "like") return planOn(change.date);
  // A silent day has no rings to change.
  const text = before.ringListId === null ? null : change.on(day, before.ringListId);
  if (text === null) return null;
  return { ringListId: before.ringListId, ringListChanges: [...before.ringListChanges, text] };
}

function isSameDayPlan(one: DayPlan, other: DayPlan): boolean {
  return one.ringListId === other.ringListId && one.ringListChanges.join() === other.ringListChanges.join();
}

/** Returns the day plan of a schedule; days outside its dates follow its cycle. */
function createDayPlanLookup(row: BellScheduleRow): (day: string) => DayPlan {
  const silent = row.ringListIds.map((id) => ({ id, entries: [] }));
  const { id, startDate, endDate, numWeeks, rotation } = row;
  // The ring list of a day does not depend on the time zone.
  const schedule = { id, startDate, endDate, numWeeks, timeZone: "UTC", entries: cycleEntriesOf(row) };
  const ways = { ...schedule, rotation: rotation ?? "calendar" } as const;
  const compiled = compileSchedule(ways, silent, scheduleExceptionsOf(row), { zones: UTC_ONLY });
  return (day) => {
    const { ringListChanges = [] } = exceptionOnDay(scheduleExceptionsOf(row), day) ?? {};
    return { ringListId: compiled.listOn(parseDayNumber(day))?.ringListId ?? null, ringListChanges };
  };
}

/**
 * The exceptions after a day change is reverted: its own exceptions are replaced by those they supersede. `covered` if a
 * later day change supersedes one of them.
 */
export function revertDayChange(
  exceptions: readonly BellScheduleException[],
  dayChangeId: string,
): BellScheduleException[] | "covered" {
  if (exceptions.some(({ instead }) => mentionsDayChange(instead ?? null, dayChangeId))) return "covered";
  const back: BellScheduleException[] = [];
  let wasRestored = false;
  for (const exception of exceptions) {
    const isOwn = exception.dayChangeId === dayChangeId;
    const next = isOwn ? restoreException(exception) : exception;
    if (next) mergeAdjacent(back, next, isOwn || wasRestored);
    wasRestored = isOwn;
  }
  return back;
}

function restoreException({ id, startDate, endDate, instead }: BellScheduleException): BellScheduleException | null {
  return instead ? { ...instead, id, startDate, endDate } : null;
}

/** Merges exceptions that the change had split. */
function mergeAdjacent(exceptions: BellScheduleException[], next: BellScheduleException, mayJoin: boolean): void {
  const last = exceptions.at(-1);
  const joins = mayJoin && last && addDays(last.endDate, 1) === next.startDate && isSameDayPlan(last, next);
  if (joins && last.description === next.description && last.instead?.id === next.instead?.id) {
    exceptions[exceptions.length - 1] = { ...last, endDate: next.endDate };
  } else exceptions.push(next);
}

function mentionsDayChange(exception: BellScheduleException | null, dayChangeId: string): boolean {
  if (!exception) return false;
  return exception.dayChangeId === dayChangeId || mentionsDayChange(exception.instead ?? null, dayChangeId);
}
