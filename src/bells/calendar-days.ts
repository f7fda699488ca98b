import { newId } from "../lib/ids.ts";
import type { BellScheduleException } from "../resources/bells/bell-fields.ts";
import { addDays, type DateSpan, daysBetween } from "./date-span.ts";
import type { Holiday } from "./holidays.ts";
import { exceptionOnDay, sortByDate } from "./schedule-exceptions.ts";

/** Days of a calendar with their descriptions. */
export type CalendarDays = ReadonlyMap<string, string | null>;

/** How the days of a calendar change in one schedule. */
export interface CalendarDayChange {
  added: CalendarDays;
  removed: ReadonlySet<string>;
  /** Days that stay, with their descriptions as they are now. */
  kept: CalendarDays;
}

/** Days of holidays within a span. */
export function daysOfHolidays(holidays: readonly Holiday[], within: DateSpan): Map<string, string | null> {
  const days = new Map<string, string | null>();
  for (const { startDate, endDate, description } of holidays) {
    const first = startDate < within.startDate ? within.startDate : startDate;
    const last = endDate > within.endDate ? within.endDate : endDate;
    for (const day of daysBetween(first, last)) days.set(day, description);
  }
  return days;
}

export function compareCalendarDays(before: CalendarDays, after: CalendarDays): CalendarDayChange {
  const added = new Map([...after].filter(([day]) => !before.has(day)));
  const kept = new Map([...after].filter(([day]) => before.has(day)));
  return { added, kept, removed: new Set([...before.keys()].filter((day) => !after.has(day))) };
}

/**
 * The exceptions of a schedule after its calendar changed; pure except for new ids. Exceptions of others win over days of the
 * calendar. A day of the calendar that somebody deleted stays deleted while the calendar keeps it. Days that are over stay as they are.
 */
export function applyCalendarDays(
  exceptions: readonly BellScheduleException[],
  { added, removed, kept }: CalendarDayChange,
  {
    calendarSubscriptionId,
    ringListId,
    today,
  }: { calendarSubscriptionId: string; ringListId: string | null; today: string },
): BellScheduleException[] {
  const isOwn = (each: BellScheduleException): boolean => each.calendarSubscriptionId === calendarSubscriptionId;
  const others = exceptions.filter((each) => !isOwn(each)).map((each) => forgetRemoved(each, isOwn, removed));
  const past = exceptions.filter((each) => isOwn(each) && each.endDate < today);
  const own = exceptions.filter((each) => isOwn(each) && each.endDate >= today);
  const days = new Map<string, string | null>();
  for (const { startDate, endDate, description } of own) {
    for (const day of daysBetween(startDate, endDate)) {
      if (!removed.has(day)) days.set(day, kept.has(day) ? (kept.get(day) ?? null) : description);
    }
  }
  for (const [day, description] of added) if (!exceptionOnDay(others, day)) days.set(day, description);
  const idAt = new Map(own.map(({ id, startDate }) => [startDate, id]));
  const spans: BellScheduleException[] = groupDays(days).map((span) => ({
    ...{ id: idAt.get(span.startDate) ?? newId(), ...span, ringListId, ringListChanges: [], calendarSubscriptionId },
  }));
  return sortByDate([...others, ...past, ...spans]);
}

/** The exceptions of a schedule without those of a calendar. */
export function withoutCalendar(
  exceptions: readonly BellScheduleException[],
  calendarSubscriptionId: string,
): BellScheduleException[] {
  const isOwn = (each: BellScheduleException): boolean => each.calendarSubscriptionId === calendarSubscriptionId;
  return exceptions
    .filter((each) => !isOwn(each))
    .map((each) => (each.instead && isOwn(each.instead) ? { ...each, instead: null } : each));
}

/** A day change that supersedes a removed day must not bring it back when it is reverted. */
function forgetRemoved(
  exception: BellScheduleException,
  isOwn: (exception: BellScheduleException) => boolean,
  removed: ReadonlySet<string>,
): BellScheduleException {
  const { instead } = exception;
  if (!instead || !isOwn(instead)) return exception;
  const isRemoved = [...daysBetween(exception.startDate, exception.endDate)].some((day) => removed.has(day));
  return isRemoved ? { ...exception, instead: null } : exception;
}

/** Consecutive days with the same description as spans, sorted. */
export function groupDays(days: CalendarDays): Holiday[] {
  const spans: Holiday[] = [];
  for (const [day, description] of [...days].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const last = spans.at(-1);
    if (last && last.description === description && addDays(last.endDate, 1) === day) last.endDate = day;
    else spans.push({ startDate: day, endDate: day, description });
  }
  return spans;
}
