import { newId } from "../lib/ids.ts";
import type { BellScheduleException } from "../resources/bells/bell-fields.ts";
import { addDays, type DateSpan, dateSpansOverlap } from "./date-span.ts";

export function sortByDate<E extends DateSpan>(exceptions: readonly E[]): E[] {
  return [...exceptions].sort((one, other) => (one.startDate < other.startDate ? -1 : 1));
}

/** The exception of a day; null if the cycle applies. */
export function exceptionOnDay<E extends DateSpan>(exceptions: readonly E[], day: string): E | null {
  return exceptions.find(({ startDate, endDate }) => startDate <= day && day <= endDate) ?? null;
}

/**
 * Inserts an exception: conflicting ones are shortened, split in two or removed, so that none overlap. The earlier part of a
 * split exception keeps its id. @source docs/decisions/0009-ring-lists-and-bell-schedules.md, Bulk exceptions
 */
export function insertException(
  exceptions: readonly BellScheduleException[],
  added: BellScheduleException,
): BellScheduleException[] {
  return sortByDate([...exceptions.flatMap((each) => cutOutSpan(each, added)), added]);
}

/** The parts of an exception outside a span: none, one or two. */
function cutOutSpan(exception: BellScheduleException, span: DateSpan): BellScheduleException[] {
  if (!dateSpansOverlap(exception, span)) return [exception];
  const parts: BellScheduleException[] = [];
  if (exception.startDate < span.startDate) parts.push({ ...exception, endDate: addDays(span.startDate, -1) });
  if (exception.endDate > span.endDate) {
    const id = parts.length > 0 ? newId() : exception.id;
    parts.push({ ...exception, id, startDate: addDays(span.endDate, 1) });
  }
  return parts;
}
