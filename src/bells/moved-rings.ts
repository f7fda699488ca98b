import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import type { StoreReader } from "../store/store.ts";
import { DEFAULT_CLOCK_RULES, type TimeZone } from "../time-zones/time-zones.ts";
import { formatDayNumber } from "./local-time.ts";
import { recurrenceOf, scheduleNameOf } from "./plan-source.ts";
import { recurrencesBetween } from "./recurrence.ts";
import type { OwnerKind } from "./ring-repository.ts";
import { eachRing } from "./schedule-expansion.ts";
import { compileTimetable, type LocalTimeContext, loadTimetables } from "./timetables.ts";

/** A schedule that follows a zone. */
export interface ZoneUser {
  kind: OwnerKind;
  id: string;
}

/** A ring that new time zone data move; `before` and `now` in ISO 8601, null: the local time no longer exists. */
export interface MovedRing {
  scheduleId: string;
  schedule: string;
  kind: OwnerKind;
  zone: string;
  localDate: string;
  localTime: string;
  before: string;
  now: string | null;
}

/** Totals over several schedules; `first` holds at most a few rings of each. */
export interface MovedRings {
  rings: number;
  schedules: Set<string>;
  first: MovedRing[];
}

export interface MovedRingsDeps {
  store: StoreReader;
  clock: Clock;
  times: LocalTimeContext;
}

const BELL_SPAN_MS = 365 * DAY_MS;
/** Of rules, which may recur every minute. */
const RULE_SPAN_MS = 31 * DAY_MS;
/** A schedule is compared in this many steps, so that each is short. */
const SLICES = 31;
const MAX_LISTED_PER_SCHEDULE = 3;
const MAX_LISTED = 200;

/** Adds the rings of one schedule whose instant differs between the zone before and the zone now. */
export async function movedRingsOf(
  user: ZoneUser,
  { name, oldZone }: { name: string; oldZone: TimeZone },
  moved: MovedRings,
  { store, clock, times }: MovedRingsDeps,
): Promise<void> {
  const zone = times.zones.of(name);
  const rules = times.rules ?? DEFAULT_CLOCK_RULES;
  const fromMs = clock.now();
  let listed = 0;
  const compare = (localMs: number): void => {
    const [before, now] = [oldZone.instantOf(localMs, rules), zone.instantOf(localMs, rules)];
    if (before === now) return;
    moved.rings++;
    moved.schedules.add(user.id);
    if (before === null || listed++ >= MAX_LISTED_PER_SCHEDULE || moved.first.length >= MAX_LISTED) return;
    const localTime = new Date(localMs).toISOString().slice(11, 16);
    moved.first.push({
      ...{ scheduleId: user.id, schedule: scheduleNameOf(store, user.kind, user.id), kind: user.kind, zone: name },
      ...{ localDate: formatDayNumber(Math.floor(localMs / DAY_MS)), localTime },
      ...{ before: new Date(before).toISOString(), now: now === null ? null : new Date(now).toISOString() },
    });
  };
  const eachLocalTime = localTimesOf(user, store, times);
  const spanMs = user.kind === "bell" ? BELL_SPAN_MS : RULE_SPAN_MS;
  for (let from = fromMs; eachLocalTime && from < fromMs + spanMs; from += spanMs / SLICES) {
    eachLocalTime(from, from + spanMs / SLICES, compare);
    await yieldToEventLoop(clock);
  }
}

/** Calls `visit` for the local times between two instants; null for a schedule that does not exist. */
function localTimesOf(
  { kind, id }: ZoneUser,
  store: StoreReader,
  times: LocalTimeContext,
): ((fromMs: number, toMs: number, visit: (localMs: number) => void) => void) | null {
  if (kind === "bell") {
    const row = store.get(bellSchedules, id);
    const timetable = row && loadTimetables(store, [row], times)[0];
    if (!timetable) return null;
    const compiled = compileTimetable(timetable, times);
    return (fromMs, toMs, visit) =>
      eachRing(compiled, fromMs, toMs, (_at, day, { seconds }, index) =>
        visit(day * DAY_MS + (seconds[index] ?? 0) * 1_000),
      );
  }
  const rule = recurrenceOf(store, kind, id, times);
  if (!rule) return null;
  const [zone, rules] = [times.zones.of(rule.timeZone), times.rules ?? DEFAULT_CLOCK_RULES];
  return (fromMs, toMs, visit) => {
    for (const { localMs } of recurrencesBetween(rule.repetition, zone, rules, fromMs, toMs)) visit(localMs);
  };
}
