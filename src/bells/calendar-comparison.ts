import { createHash } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import type { BellScheduleException } from "../resources/bells/bell-fields.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import type calendarSubscriptions from "../resources/bells/calendar-subscriptions.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Store } from "../store/store.ts";
import { type BellScheduleRow, scheduleExceptionsOf } from "./bell-schedule-hooks.ts";
import {
  applyCalendarDays,
  type CalendarDayChange,
  type CalendarDays,
  compareCalendarDays,
  daysOfHolidays,
  groupDays,
} from "./calendar-days.ts";
import type { CalendarReader } from "./calendar-reader.ts";
import { addDays, type DateSpan } from "./date-span.ts";
import type { Holiday, ParsedHolidays, RejectedEvent } from "./holidays.ts";
import { formatDayNumber } from "./local-time.ts";
import { diffRings, type RingDiff, type RingDiffEntry } from "./ring-diff.ts";
import { type LocalTimeContext, loadTimetables } from "./timetables.ts";

export type CalendarSubscription = RowOf<typeof calendarSubscriptions>;

/** What a change would do, as the API shows it. */
export interface ShownChanges {
  schedules: { bellScheduleId: string; name: string; added: Holiday[]; removed: Holiday[] }[];
  rings: {
    silenced: number;
    moved: number;
    first: Pick<RingDiffEntry, "bellScheduleId" | "localDate" | "localTime">[];
  };
}

/** The days of a calendar in one schedule, before and after. */
export interface ScheduleChange {
  row: BellScheduleRow;
  /** Its coming days; null if it is over. */
  span: DateSpan | null;
  change: CalendarDayChange;
  accepted: CalendarDays;
  /** Added days that change rings of the next 24 hours. */
  near: ReadonlySet<string>;
}

/** Compares a version of a calendar with the days that apply in bell schedules. Changes nothing. */
export interface CalendarComparer {
  /** Throws CallerError for a calendar that cannot be read. */
  compare(row: CalendarSubscription, text: string): Promise<{ changes: ScheduleChange[]; rejected: RejectedEvent[] }>;
  /** What changes, and its identity; null without changes. */
  describe(
    changes: readonly ScheduleChange[],
    row: CalendarSubscription,
  ): Promise<{ id: string; shown: ShownChanges } | null>;
  /** The exceptions of a schedule with a change. */
  editedExceptions(
    row: BellScheduleRow,
    change: CalendarDayChange,
    subscription: Pick<CalendarSubscription, "id" | "ringListId">,
  ): BellScheduleException[];
  /** The number of coming days that apply. */
  countAccepted(id: string, changes: readonly ScheduleChange[]): number;
}

export const NO_CHANGE: CalendarDayChange = { added: new Map(), removed: new Set(), kept: new Map() };

/** @source docs/decisions/0542-calendar-subscriptions.md */
const NEAR_MS = DAY_MS;
const MAX_AHEAD_DAYS = 800;
const MAX_SHOWN_SPANS = 50;
const MAX_SHOWN_SCHEDULES = 20;
const MAX_SHOWN_RINGS = 20;

const SELECT_DAYS = "SELECT days FROM calendar_subscription_days WHERE subscription = ? AND schedule = ?";

/** Creates the comparer. */
export function createCalendarComparer({
  store,
  clock,
  times,
  reader,
}: {
  store: Store;
  clock: Clock;
  times: LocalTimeContext;
  reader: Pick<CalendarReader, "read">;
}): CalendarComparer {
  const localDay = (at: number, timeZone: string): string =>
    formatDayNumber(Math.floor((at + times.zones.of(timeZone).offsetAt(at)) / DAY_MS));

  const acceptedDays = (subscription: string, schedule: string, span: DateSpan): Map<string, string | null> => {
    const stored = store.one<{ days: string }>(SELECT_DAYS, subscription, schedule);
    const days = stored ? (JSON.parse(stored.days) as [string, string | null][]) : [];
    return new Map(days.filter(([day]) => day >= span.startDate && day <= span.endDate));
  };

  const editedExceptions = (
    row: BellScheduleRow,
    change: CalendarDayChange,
    { id, ringListId }: Pick<CalendarSubscription, "id" | "ringListId">,
  ) => {
    const today = localDay(clock.now(), row.timeZone ?? times.ownZone());
    return applyCalendarDays(scheduleExceptionsOf(row), change, { calendarSubscriptionId: id, ringListId, today });
  };

  const ringsChanged = async (
    changes: readonly { row: BellScheduleRow; change: CalendarDayChange }[],
    subscription: CalendarSubscription,
    lookaheadMs?: number,
  ): Promise<Pick<RingDiff, "added" | "removed" | "moved">> => {
    const total: Pick<RingDiff, "added" | "removed" | "moved"> = {
      ...{ added: { count: 0, first: [] }, removed: { count: 0, first: [] }, moved: { count: 0, first: [] } },
    };
    const options = { clock, times, partial: false, ...(lookaheadMs === undefined ? {} : { lookaheadMs }) };
    for (const { row, change } of changes) {
      const ids = subscription.ringListId === null ? row.ringListIds : [...row.ringListIds, subscription.ringListId];
      const edited = { ...row, ringListIds: ids, bellScheduleExceptions: editedExceptions(row, change, subscription) };
      const [before = null, after = null] = [row, edited].flatMap((each) => loadTimetables(store, [each], times));
      const difference = await diffRings([{ before, after }], options);
      for (const kind of ["added", "removed", "moved"] as const) {
        total[kind].count += difference[kind].count;
        total[kind].first.push(...(difference[kind].first.slice(0, MAX_SHOWN_RINGS) as never[]));
      }
    }
    return total;
  };

  /** Added days that would silence or move rings of the next 24 hours, each by itself. */
  const nearDays = async (
    schedule: BellScheduleRow,
    { added }: CalendarDayChange,
    row: CalendarSubscription,
  ): Promise<Set<string>> => {
    const timeZone = schedule.timeZone ?? times.ownZone();
    const last = localDay(clock.now() + NEAR_MS, timeZone);
    const near = new Set<string>();
    for (const [day, description] of [...added].filter(([each]) => each <= last)) {
      const change = { added: new Map([[day, description]]), removed: new Set<string>(), kept: new Map() };
      const { removed, moved, added: rings } = await ringsChanged([{ row: schedule, change }], row, NEAR_MS);
      if (removed.count + moved.count + rings.count > 0) near.add(day);
    }
    return near;
  };

  const compare = async (
    row: CalendarSubscription,
    text: string,
  ): Promise<{ changes: ScheduleChange[]; rejected: RejectedEvent[] }> => {
    const changes: ScheduleChange[] = [];
    const parsed = new Map<string, ParsedHolidays>();
    let rejected: RejectedEvent[] = [];
    const read = async (timeZone: string, span: DateSpan): Promise<Holiday[]> => {
      const key = [timeZone, span.startDate, span.endDate].join(" ");
      const known = parsed.get(key) ?? (await reader.read(text, span, timeZone));
      parsed.set(key, known);
      rejected = known.rejected;
      return known.holidays;
    };
    for (const id of row.bellScheduleIds) {
      const schedule = store.get(bellSchedules, id);
      if (!schedule) continue;
      const timeZone = schedule.timeZone ?? times.ownZone();
      const today = localDay(clock.now(), timeZone);
      const span = laterPart(schedule, today);
      const next = span ? daysOfHolidays(await read(timeZone, span), span) : new Map<string, string | null>();
      const accepted = span ? acceptedDays(row.id, id, span) : new Map<string, string | null>();
      const change = compareCalendarDays(accepted, next);
      const near = await nearDays(schedule, change, row);
      changes.push({ row: schedule, span, change, accepted, near });
    }
    // Without a schedule it is read all the same, so that a wrong address is noticed.
    if (changes.length === 0) {
      const today = localDay(clock.now(), times.ownZone());
      await read(times.ownZone(), { startDate: today, endDate: addDays(today, MAX_AHEAD_DAYS) });
    }
    return { changes, rejected };
  };

  const describe = async (
    changes: readonly ScheduleChange[],
    row: CalendarSubscription,
  ): Promise<{ id: string; shown: ShownChanges } | null> => {
    const real = changes.filter(({ change }) => change.added.size + change.removed.size > 0);
    if (real.length === 0) return null;
    const { removed, moved } = await ringsChanged(real, row);
    const all = real.map(({ row: { id, name }, change, accepted }) => ({
      ...{ bellScheduleId: id, name, added: groupDays(change.added) },
      removed: groupDays(new Map([...change.removed].map((day) => [day, accepted.get(day) ?? null]))),
    }));
    const schedules = all.slice(0, MAX_SHOWN_SCHEDULES).map((each) => ({
      ...each,
      ...{ added: each.added.slice(0, MAX_SHOWN_SPANS), removed: each.removed.slice(0, MAX_SHOWN_SPANS) },
    }));
    const first = [...removed.first, ...moved.first]
      .sort((one, other) => one.at - other.at)
      .slice(0, MAX_SHOWN_RINGS)
      .map(({ bellScheduleId, localDate, localTime }) => ({ bellScheduleId, localDate, localTime }));
    const days = real.map(({ row: { id }, change }) => [
      id,
      [...change.added.keys()].sort(),
      [...change.removed].sort(),
    ]);
    const id = createHash("sha256").update(JSON.stringify(days)).digest("hex").slice(0, 32);
    return { id, shown: { schedules, rings: { silenced: removed.count, moved: moved.count, first } } };
  };

  const countAccepted = (id: string, changes: readonly ScheduleChange[]): number =>
    changes.reduce((sum, { row, span }) => sum + (span ? acceptedDays(id, row.id, span).size : 0), 0);

  return { compare, describe, editedExceptions, countAccepted };
}

/** The days of a schedule from today on; null if it is over. */
function laterPart({ startDate, endDate }: DateSpan, today: string): DateSpan | null {
  const [first, last] = [startDate > today ? startDate : today, addDays(today, MAX_AHEAD_DAYS)];
  const end = endDate < last ? endDate : last;
  return first <= end ? { startDate: first, endDate: end } : null;
}
