import { type FieldError, invalidValue, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import {
  BELL_SCHEDULE_ENTRY_FIELDS,
  BELL_SCHEDULE_EXCEPTION_FIELDS,
  type BellScheduleEntry,
  type BellScheduleException,
} from "../resources/bells/bell-fields.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import { parseNestedItems } from "../schema/nested-items.ts";
import type { RowOf } from "../schema/resource.ts";
import { compileValidator } from "../schema/validator.ts";
import { assertReferencesVisible, collectReferences, readNamedRows } from "../store/element-references.ts";
import type { ActorContext, ResourceHooks, StoreReader, Transaction } from "../store/store.ts";
import { assertValidDateSpan, dateSpansOverlap, validateDateSpan } from "./date-span.ts";
import { formatRingListChange, parseRingListChange } from "./ring-list-changes.ts";
import { sortByDate } from "./schedule-exceptions.ts";

export type BellScheduleRow = RowOf<typeof bellSchedules>;

const ENTRIES = "bellScheduleEntries";
const EXCEPTIONS = "bellScheduleExceptions";
/** @source docs/decisions/0200-bell-engine-limits.md, Limits */
const MAX_EXCEPTIONS = 1_000;
const REFERENCES = { ringListId: { resource: ringLists, kept: "ringListIds" } } as const;
const entryChecker = compileValidator(BELL_SCHEDULE_ENTRY_FIELDS);
const exceptionChecker = compileValidator(BELL_SCHEDULE_EXCEPTION_FIELDS);

/** Validates the cycle and the exceptions of a bell schedule and checks that its ring lists exist. @source docs/decisions/0009-ring-lists-and-bell-schedules.md, Bell schedule */
export const bellScheduleHooks: ResourceHooks<typeof bellSchedules> = {
  beforeWrite({ op, before, after, given }, tx, by) {
    if (!after) return;
    assertValidDateSpan(after);
    const isGiven = (field: string): boolean => op === "create" || given.has(field);
    if (isGiven(ENTRIES)) {
      after.bellScheduleEntries = parseCycle(after.bellScheduleEntries ?? []);
      assertReferencesVisible(cycleEntriesOf(after), REFERENCES, { field: ENTRIES, before, reader: tx, by });
    }
    if (isGiven(EXCEPTIONS)) {
      after.bellScheduleExceptions = parseExceptions(after.bellScheduleExceptions ?? []).map(preserveOrigin(before));
      assertReferencesVisible(scheduleExceptionsOf(after), REFERENCES, { field: EXCEPTIONS, before, reader: tx, by });
    }
    assertEntriesWithinCycle(after, isGiven(ENTRIES));
    const days = [...cycleEntriesOf(after), ...scheduleExceptionsOf(after).flatMap(withSupersededExceptions)];
    Object.assign(after, collectReferences(days, REFERENCES));
  },
  present: (rows, { reader }) => serializeDays(rows, reader),
};

export function cycleEntriesOf(row: Pick<BellScheduleRow, "bellScheduleEntries">): readonly BellScheduleEntry[] {
  return row.bellScheduleEntries as BellScheduleEntry[];
}

/** Sorted by date. */
export function scheduleExceptionsOf(
  row: Pick<BellScheduleRow, "bellScheduleExceptions">,
): readonly BellScheduleException[] {
  return row.bellScheduleExceptions as BellScheduleException[];
}

/** An exception, then the exceptions that it supersedes and that are restored when its day change is reverted. */
export function withSupersededExceptions(exception: BellScheduleException): BellScheduleException[] {
  return [exception, ...(exception.instead ? withSupersededExceptions(exception.instead) : [])];
}

/** Sorts the cycle by day and rejects duplicate days. Throws CallerError. */
function parseCycle(input: unknown): BellScheduleEntry[] {
  const most = BELL_SCHEDULE_ENTRY_FIELDS.entryNum.max + 1;
  const parts = parseNestedItems<BellScheduleEntry>(input, { field: ENTRIES, most, checker: entryChecker });
  const entries = parts.map(({ entryNum, ringListId }) => ({ entryNum, ringListId }));
  entries.forEach(({ entryNum }, at) => {
    if (entries.findIndex((other) => other.entryNum === entryNum) === at) return;
    throw invalidValue(`${ENTRIES}[${at}].entryNum`, sentence("field.duplicate-day-day", { day: entryNum }));
  });
  return entries.sort((one, other) => one.entryNum - other.entryNum);
}

function assertEntriesWithinCycle({ numWeeks, ...row }: BellScheduleRow, given: boolean): void {
  const at = cycleEntriesOf(row).findIndex(({ entryNum }) => entryNum >= 7 * numWeeks);
  if (at < 0) return;
  const range = sentence("field.the-days-of-weeks-week-s-are-0-to-last", { weeks: numWeeks, last: 7 * numWeeks - 1 });
  throw given
    ? invalidValue(`${ENTRIES}[${at}].entryNum`, range)
    : invalidValue("numWeeks", sentence("field.must-not-be-less-than-the-cycle-needs-range", { range }));
}

/** Sorts the exceptions by date and rejects overlaps. Throws CallerError with one entry per invalid exception. */
function parseExceptions(input: unknown): BellScheduleException[] {
  const parts = parseNestedItems<BellScheduleException>(input, {
    field: EXCEPTIONS,
    most: MAX_EXCEPTIONS,
    checker: exceptionChecker,
  });
  const errors = parts.flatMap((part, at) => validateException(part, at, parts));
  if (errors.length > 0) throw validationError(errors);
  return sortByDate(parts.map((part) => ({ ...part, ringListChanges: part.ringListChanges.map(normalizeChange) })));
}

/** An exception that is written back unchanged keeps the reference to its day change or its calendar. */
function preserveOrigin(before: BellScheduleRow | null): (exception: BellScheduleException) => BellScheduleException {
  const held = new Map(before ? scheduleExceptionsOf(before).map((exception) => [exception.id, exception]) : []);
  return (exception) => {
    const known = held.get(exception.id);
    if (!known || exceptionFingerprint(known) !== exceptionFingerprint(exception)) return exception;
    const { dayChangeId, calendarSubscriptionId } = known;
    if (dayChangeId) return { ...exception, dayChangeId, instead: known.instead ?? null };
    return calendarSubscriptionId ? { ...exception, calendarSubscriptionId } : exception;
  };
}

function exceptionFingerprint({ startDate, endDate, ringListId, ringListChanges }: BellScheduleException): string {
  return JSON.stringify([startDate, endDate, ringListId, ringListChanges]);
}

/** Throws CallerError if a schedule has too many exceptions. */
export function assertExceptionLimit(exceptions: readonly BellScheduleException[], name: string): void {
  if (exceptions.length <= MAX_EXCEPTIONS) return;
  throw invalidValue(
    "startDate",
    sentence("field.the-schedule-name-would-have-more-than-limit-exceptions", { name, limit: MAX_EXCEPTIONS }),
  );
}

/** Replaces the exceptions of a schedule; they must be sorted and must not overlap. Throws CallerError if there are too many. */
export function saveExceptions(
  { id, name }: BellScheduleRow,
  bellScheduleExceptions: readonly BellScheduleException[],
  tx: Transaction,
  by: ActorContext,
): void {
  assertExceptionLimit(bellScheduleExceptions, name);
  tx.update(bellSchedules, id, {}, by, { bellScheduleExceptions });
}

function validateException(
  part: BellScheduleException,
  at: number,
  parts: readonly BellScheduleException[],
): FieldError[] {
  const fieldError = (member: string, detail: string): FieldError => {
    const field = `${EXCEPTIONS}[${at}].${member}`;
    return { field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` };
  };
  const wrongSpan = validateDateSpan(part);
  if (wrongSpan) return [fieldError(wrongSpan.field, wrongSpan.message)];
  const errors: FieldError[] = [];
  const other = parts.findIndex((each, index) => index < at && dateSpansOverlap(each, part));
  if (other >= 0) errors.push(fieldError("startDate", sentence("field.must-not-overlap-exception-other", { other })));
  if (part.ringListId === null && part.ringListChanges.length > 0)
    errors.push(fieldError("ringListChanges", sentence("field.must-be-empty-for-an-exception-without-a-ring-list")));
  part.ringListChanges.forEach((text, index) => {
    if (parseRingListChange(text) === null) errors.push(fieldError(`ringListChanges[${index}]`, CHANGE_SYNTAX_MESSAGE));
  });
  return errors;
}

const CHANGE_SYNTAX_MESSAGE = sentence("field.must-be-one-of-delay-60-earlier-30-end-12-30-00-mute-08");

function normalizeChange(text: string): string {
  const change = parseRingListChange(text);
  return change ? formatRingListChange(change) : text;
}

/** The cycle and exceptions of a page of schedules with the names of their ring lists, in one query. Lists that the caller may not read are omitted. */
function serializeDays(rows: readonly BellScheduleRow[], reader: StoreReader): Record<string, unknown>[] {
  const names = readNamedRows(
    reader,
    ringLists,
    rows.flatMap(({ ringListIds }) => ringListIds),
  );
  return rows.map((row) => {
    const shown = <P extends { ringListId: string | null }>(part: P) => {
      const name = part.ringListId !== null && row.ringListIds.includes(part.ringListId) && names.get(part.ringListId);
      return { ...part, ringListId: name ? part.ringListId : null, ringListName: name ? name.name : null };
    };
    return {
      bellScheduleEntries: cycleEntriesOf(row).map(shown),
      bellScheduleExceptions: scheduleExceptionsOf(row).map(({ instead: _instead, ...exception }) => shown(exception)),
    };
  });
}
