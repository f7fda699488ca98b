import { type Fault, faulty, invalidValue } from "../base/errors.ts";
import {
  BELL_SCHEDULE_ENTRY,
  BELL_SCHEDULE_EXCEPTION,
  type BellScheduleEntry,
  type BellScheduleException,
} from "../resources/bells/bell-parts.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import { compileChecker } from "../schema/check.ts";
import { readParts } from "../schema/part-lists.ts";
import type { RowOf } from "../schema/resource.ts";
import { namedRows, referencesOf, requireReferences } from "../store/part-references.ts";
import type { Behaviour, By, Reader, Transaction } from "../store/store.ts";
import { faultOfSpan, overlap, requireSpan } from "./calendar-days.ts";
import { inOrderOfTime } from "./exceptions.ts";
import { changeText, readChange } from "./ring-list-changes.ts";

/** A bell schedule as it is stored. */
export type BellScheduleRow = RowOf<typeof bellSchedules>;

const ENTRIES = "bellScheduleEntries";
const EXCEPTIONS = "bellScheduleExceptions";
/** own choice */
const MOST_EXCEPTIONS = 1_000;
const REFERENCES = { ringListId: { resource: ringLists, kept: "ringListIds" } } as const;
const entryChecker = compileChecker(BELL_SCHEDULE_ENTRY);
const exceptionChecker = compileChecker(BELL_SCHEDULE_EXCEPTION);

/** A schedule's cycle and exceptions fit together and refer to ring lists that are there. @source decisions.md 9 */
export const bellScheduleBehaviour: Behaviour<typeof bellSchedules> = {
  beforeWrite({ op, before, after, given }, tx, by) {
    if (!after) return;
    requireSpan(after);
    const isGiven = (field: string): boolean => op === "create" || given.has(field);
    if (isGiven(ENTRIES)) {
      after.bellScheduleEntries = readCycle(after.bellScheduleEntries ?? []);
      requireReferences(entriesOf(after), REFERENCES, { field: ENTRIES, before, reader: tx, by });
    }
    if (isGiven(EXCEPTIONS)) {
      after.bellScheduleExceptions = readExceptions(after.bellScheduleExceptions ?? []).map(keepOrigin(before));
      requireReferences(exceptionsOf(after), REFERENCES, { field: EXCEPTIONS, before, reader: tx, by });
    }
    requireWithinCycle(after, isGiven(ENTRIES));
    const days = [...entriesOf(after), ...exceptionsOf(after).flatMap(withHidden)];
    Object.assign(after, referencesOf(days, REFERENCES));
  },
  present: (rows, { reader }) => presentDays(rows, reader),
};

/** The cycle of a stored schedule. */
export function entriesOf(row: Pick<BellScheduleRow, "bellScheduleEntries">): readonly BellScheduleEntry[] {
  return row.bellScheduleEntries as BellScheduleEntry[];
}

/** The exceptions of a stored schedule, in order of time. */
export function exceptionsOf(row: Pick<BellScheduleRow, "bellScheduleExceptions">): readonly BellScheduleException[] {
  return row.bellScheduleExceptions as BellScheduleException[];
}

/** An exception and those that would come back in its place. */
export function withHidden(exception: BellScheduleException): BellScheduleException[] {
  return [exception, ...(exception.instead ? withHidden(exception.instead) : [])];
}

/** The cycle in order of its days, each at most once. Throws CallerError. */
function readCycle(input: unknown): BellScheduleEntry[] {
  const most = BELL_SCHEDULE_ENTRY.entryNum.max + 1;
  const parts = readParts<BellScheduleEntry>(input, { field: ENTRIES, most, checker: entryChecker });
  const entries = parts.map(({ entryNum, ringListId }) => ({ entryNum, ringListId }));
  entries.forEach(({ entryNum }, at) => {
    if (entries.findIndex((other) => other.entryNum === entryNum) === at) return;
    throw invalidValue(`${ENTRIES}[${at}].entryNum`, `Day ${entryNum} is there twice.`);
  });
  return entries.sort((one, other) => one.entryNum - other.entryNum);
}

function requireWithinCycle({ numWeeks, ...row }: BellScheduleRow, given: boolean): void {
  const at = entriesOf(row).findIndex(({ entryNum }) => entryNum >= 7 * numWeeks);
  if (at < 0) return;
  const words = `The days of ${numWeeks} week(s) are 0 to ${7 * numWeeks - 1}.`;
  throw given
    ? invalidValue(`${ENTRIES}[${at}].entryNum`, words)
    : invalidValue("numWeeks", `${words} There are more.`);
}

/** Exceptions in order of time, none overlapping another. Throws CallerError naming every faulty one. */
function readExceptions(input: unknown): BellScheduleException[] {
  const parts = readParts<BellScheduleException>(input, {
    field: EXCEPTIONS,
    most: MOST_EXCEPTIONS,
    checker: exceptionChecker,
  });
  const faults = parts.flatMap((part, at) => faultsOf(part, at, parts));
  if (faults.length > 0) throw faulty(faults);
  return inOrderOfTime(parts.map((part) => ({ ...part, ringListChanges: part.ringListChanges.map(inOneSpelling) })));
}

/** An exception that comes back as it was is still that of its day change. */
function keepOrigin(before: BellScheduleRow | null): (exception: BellScheduleException) => BellScheduleException {
  const held = new Map(before ? exceptionsOf(before).map((exception) => [exception.id, exception]) : []);
  return (exception) => {
    const known = held.get(exception.id);
    if (!known?.dayChangeId || content(known) !== content(exception)) return exception;
    return { ...exception, dayChangeId: known.dayChangeId, instead: known.instead ?? null };
  };
}

function content({ startDate, endDate, ringListId, ringListChanges }: BellScheduleException): string {
  return JSON.stringify([startDate, endDate, ringListId, ringListChanges]);
}

/** Throws CallerError for more exceptions than a schedule may have. */
export function requireFewExceptions(exceptions: readonly BellScheduleException[], name: string): void {
  if (exceptions.length <= MOST_EXCEPTIONS) return;
  throw invalidValue("startDate", `The schedule ${name} would have more than ${MOST_EXCEPTIONS} exceptions.`);
}

/** Gives a schedule other exceptions, which must be in order and not overlap. Throws CallerError when they are too many. */
export function putExceptions(
  { id, name }: BellScheduleRow,
  bellScheduleExceptions: readonly BellScheduleException[],
  tx: Transaction,
  by: By,
): void {
  requireFewExceptions(bellScheduleExceptions, name);
  tx.update(bellSchedules, id, {}, by, { bellScheduleExceptions });
}

function faultsOf(part: BellScheduleException, at: number, parts: readonly BellScheduleException[]): Fault[] {
  const fault = (member: string, words: string): Fault => {
    const field = `${EXCEPTIONS}[${at}].${member}`;
    return { field, type: "invalid-value", message: `Field ${field} is not valid. ${words}` };
  };
  const wrongSpan = faultOfSpan(part);
  if (wrongSpan) return [fault(wrongSpan.field, wrongSpan.words)];
  const faults: Fault[] = [];
  const other = parts.findIndex((each, index) => index < at && overlap(each, part));
  if (other >= 0) faults.push(fault("startDate", `It overlaps exception ${other}.`));
  if (part.ringListId === null && part.ringListChanges.length > 0)
    faults.push(fault("ringListChanges", "There is no ring list to change."));
  part.ringListChanges.forEach((text, index) => {
    if (readChange(text) === null) faults.push(fault(`ringListChanges[${index}]`, CHANGE_WORDS));
  });
  return faults;
}

const CHANGE_WORDS =
  "One of delay 60, earlier 30, end 12:30:00, mute 08:00:00 11:00:00, move <ring of the list> 08:05:00.";

function inOneSpelling(text: string): string {
  const change = readChange(text);
  return change ? changeText(change) : text;
}

/** The cycle and exceptions of a page's schedules with the names of their ring lists; one query. What the asker may not see is left out. */
function presentDays(rows: readonly BellScheduleRow[], reader: Reader): Record<string, unknown>[] {
  const names = namedRows(
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
      bellScheduleEntries: entriesOf(row).map(shown),
      bellScheduleExceptions: exceptionsOf(row).map(({ instead: _instead, ...exception }) => shown(exception)),
    };
  });
}
