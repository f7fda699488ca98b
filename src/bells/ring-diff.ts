import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import { formatDayNumber, parseDayNumber } from "./local-time.ts";
import { eachRing } from "./schedule-expansion.ts";
import { compileTimetable, type LocalTimeContext, type Timetable } from "./timetables.ts";

export interface RingDiffEntry {
  bellScheduleId: string;
  /** Null if the ring list no longer exists. */
  ringListId: string | null;
  entryId: string;
  messageTemplateId: string;
  /** Epoch ms. */
  at: number;
  localDate: string;
  localTime: string;
}

/** A ring of the same entry on the same day at another time. */
export interface MovedRingDiffEntry extends RingDiffEntry {
  movedTo: { at: number; localTime: string };
}

/** Total count and the first 100 items. */
export interface RingDiffList<T> {
  count: number;
  first: T[];
}

/** The effect of a write on upcoming rings. */
export interface RingDiff {
  /** Number of schedules compared. */
  schedules: number;
  /** True if more schedules are affected than were compared. */
  partial: boolean;
  added: RingDiffList<RingDiffEntry>;
  removed: RingDiffList<RingDiffEntry>;
  moved: RingDiffList<MovedRingDiffEntry>;
}

/** A schedule before and after a write; null if it does not exist then. */
export interface TimetableChange {
  before: Timetable | null;
  after: Timetable | null;
}

const MAX_LISTED_RINGS = 100;
/** About a school year. @source docs/decisions/0200-bell-engine-limits.md, Limits */
const LOOKAHEAD_MS = 400 * DAY_MS;

/** Compares the upcoming rings of schedules for 400 days (`lookaheadMs`) from now, or from their first day; yields to the event loop. */
export async function diffRings(
  compared: readonly TimetableChange[],
  {
    clock,
    times,
    partial,
    lookaheadMs = LOOKAHEAD_MS,
  }: { clock: Clock; times: LocalTimeContext; partial: boolean; lookaheadMs?: number },
): Promise<RingDiff> {
  const now = clock.now();
  const difference: RingDiff = {
    schedules: compared.length,
    partial,
    ...{ added: { count: 0, first: [] }, removed: { count: 0, first: [] }, moved: { count: 0, first: [] } },
  };
  for (const { before, after } of compared) {
    const fromMs = comparisonStart([before, after], now);
    const [old, next] = [before, after].map((each) =>
      ringsByEntry(each, { fromMs, toMs: fromMs + lookaheadMs }, times),
    ) as [RingsByEntry, RingsByEntry];
    for (const [key, ring] of old) {
      const kept = next.get(key);
      if (!kept) addToList(difference.removed, ring);
      else if (kept.at !== ring.at) addToList(difference.moved, { ...ring, movedTo: newTimeOf(kept) });
    }
    for (const [key, ring] of next) if (!old.has(key)) addToList(difference.added, ring);
    await yieldToEventLoop(clock);
  }
  return difference;
}

/** Now, or a day before the schedule begins, so that every time zone is covered. */
export function comparisonStart(timetables: readonly (Timetable | null)[], now: number): number {
  const starts = timetables.flatMap((each) =>
    each ? [parseDayNumber(each.schedule.startDate) * DAY_MS - DAY_MS] : [],
  );
  return Math.max(now, Math.min(...starts));
}

type RingsByEntry = Map<string, RingDiffEntry>;

function addToList<T>(counted: RingDiffList<T>, ring: T): void {
  counted.count++;
  if (counted.first.length < MAX_LISTED_RINGS) counted.first.push(ring);
}

function newTimeOf({ at, localTime }: RingDiffEntry): MovedRingDiffEntry["movedTo"] {
  return { at, localTime };
}

/** Upcoming rings of a timetable, by entry and day. */
function ringsByEntry(
  timetable: Timetable | null,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  times: LocalTimeContext,
): RingsByEntry {
  const rings: RingsByEntry = new Map();
  if (!timetable) return rings;
  const bellScheduleId = timetable.schedule.id;
  let [dated, localDate] = [Number.NaN, ""];
  eachRing(compileTimetable(timetable, times), fromMs, toMs, (at, day, { ringListId, entries }, index) => {
    const entry = entries[index];
    if (!entry) return;
    const { id: entryId, messageTemplateId, time: localTime } = entry;
    if (day !== dated) [dated, localDate] = [day, formatDayNumber(day)];
    rings.set(`${entryId} ${day}`, {
      ...{ bellScheduleId, ringListId, entryId, messageTemplateId, at, localDate, localTime },
    });
  });
  return rings;
}
