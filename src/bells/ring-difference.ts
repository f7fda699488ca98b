import { type Clock, nextTurn } from "../base/clock.ts";
import { dateOf, dayOf } from "./local-times.ts";
import { eachRing } from "./rings.ts";
import { type BellTimes, compileTimetable, type Timetable } from "./timetables.ts";
import { DAY_MS } from "./zones.ts";

/** A ring as a difference tells it. */
export interface DifferingRing {
  bellScheduleId: string;
  /** Null for a ring whose list is gone. */
  ringListId: string | null;
  entryId: string;
  messageTemplateId: string;
  /** Epoch ms. */
  at: number;
  localDate: string;
  localTime: string;
}

/** A ring of the same entry on the same day that comes at another time. */
export interface MovedRing extends DifferingRing {
  movedTo: { at: number; localTime: string };
}

/** How many, and the first 100 of them. */
export interface Counted<T> {
  count: number;
  first: T[];
}

/** What a write does to the rings to come. */
export interface RingDifference {
  /** Schedules that were compared. */
  schedules: number;
  /** True where more schedules ring otherwise than were compared. */
  partial: boolean;
  added: Counted<DifferingRing>;
  removed: Counted<DifferingRing>;
  moved: Counted<MovedRing>;
}

/** A schedule before and after a write; null where there is none. */
export interface Compared {
  before: Timetable | null;
  after: Timetable | null;
}

const MOST_TOLD = 100;
/** own choice: about a school year, and what is left of this one. */
const AHEAD_MS = 400 * DAY_MS;

/** Compares the rings of schedules to come, from now or their first day on for 400 days, in turns of the event loop. own choice: how far */
export async function ringDifference(
  compared: readonly Compared[],
  { clock, times, partial }: { clock: Clock; times: BellTimes; partial: boolean },
): Promise<RingDifference> {
  const now = clock.now();
  const difference: RingDifference = {
    schedules: compared.length,
    partial,
    ...{ added: { count: 0, first: [] }, removed: { count: 0, first: [] }, moved: { count: 0, first: [] } },
  };
  for (const { before, after } of compared) {
    const fromMs = beginOf([before, after], now);
    const [old, next] = [before, after].map((each) => ringsByEntry(each, fromMs, times)) as [Rings, Rings];
    for (const [key, ring] of old) {
      const kept = next.get(key);
      if (!kept) tell(difference.removed, ring);
      else if (kept.at !== ring.at) tell(difference.moved, { ...ring, movedTo: timeOf(kept) });
    }
    for (const [key, ring] of next) if (!old.has(key)) tell(difference.added, ring);
    await nextTurn(clock);
  }
  return difference;
}

/** Now, or a day before the schedule begins, wherever its zone lies. */
export function beginOf(timetables: readonly (Timetable | null)[], now: number): number {
  const starts = timetables.flatMap((each) => (each ? [dayOf(each.schedule.startDate) * DAY_MS - DAY_MS] : []));
  return Math.max(now, Math.min(...starts));
}

type Rings = Map<string, DifferingRing>;

function tell<T>(counted: Counted<T>, ring: T): void {
  counted.count++;
  if (counted.first.length < MOST_TOLD) counted.first.push(ring);
}

function timeOf({ at, localTime }: DifferingRing): MovedRing["movedTo"] {
  return { at, localTime };
}

/** The rings to come of a timetable, by entry and day. */
function ringsByEntry(timetable: Timetable | null, fromMs: number, times: BellTimes): Rings {
  const rings: Rings = new Map();
  if (!timetable) return rings;
  const bellScheduleId = timetable.schedule.id;
  let [dated, localDate] = [Number.NaN, ""];
  eachRing(compileTimetable(timetable, times), fromMs, fromMs + AHEAD_MS, (at, day, { ringListId, entries }, index) => {
    const entry = entries[index];
    if (!entry) return;
    const { id: entryId, messageTemplateId, time: localTime } = entry;
    if (day !== dated) [dated, localDate] = [day, dateOf(day)];
    rings.set(`${entryId} ${day}`, {
      ...{ bellScheduleId, ringListId, entryId, messageTemplateId, at, localDate, localTime },
    });
  });
  return rings;
}
