import type { Clock, Timer } from "../lib/clock.ts";
import { DAY_MS } from "../lib/durations.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import { type Sentence, type SentenceCode, sentence } from "../lib/sentences/sentences.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import { tableName } from "../schema/catalogue.ts";
import type { StoreReader } from "../store/store.ts";
import { DEFAULT_CLOCK_RULES } from "../time-zones/time-zones.ts";
import { isPlanDirty } from "./ring-repository.ts";
import { createZoneOffsetLookup, lintTimetable, type ScheduleFinding } from "./schedule-lint-rules.ts";
import { type LocalTimeContext, loadTimetables } from "./timetables.ts";

/** A schedule error as a health reason. */
export interface ScheduleLintReason {
  level: "yellow";
  code: string;
  reason: Sentence;
}

/** Validates the rings of the next 365 days: all schedules every night, changed schedules soon after the write. */
export interface ScheduleLint {
  start(): void;
  /** Checks all schedules in time slices. */
  lintAll(): Promise<void>;
  /** Findings of the last run. */
  healthReasons(): readonly ScheduleLintReason[];
  stop(): Promise<void>;
}

export interface ScheduleLintDeps {
  reader: StoreReader;
  clock: Clock;
  events: Events;
  log: Log;
  times: LocalTimeContext;
}

/** Local time of the nightly run. @source docs/decisions/0200-bell-engine-limits.md, Schedule lint */
const NIGHTLY_RUN_LOCAL_MS = 3.25 * 3_600_000;
/** After a start, once the rest of the system is ready. @source docs/decisions/0200-bell-engine-limits.md, Schedule lint */
const FIRST_RUN_DELAY_MS = 60_000;
/** After a write, once its plan exists. @source docs/decisions/0200-bell-engine-limits.md, Schedule lint */
const CHANGE_DELAY_MS = 5_000;
/** Pause between slices: the check has low priority. @source docs/decisions/0200-bell-engine-limits.md, Schedule lint */
const PAUSE_MS = 20;
const MAX_REASONS = 20;

const FINDING_CODES: Readonly<Record<ScheduleFinding["kind"], SentenceCode>> = {
  twice: "health.schedule-twice",
  "out of order": "health.schedule-order",
  "wrong time": "health.schedule-time",
  "no recipients": "health.schedule-recipients",
  "not planned": "health.schedule-unplanned",
  "planned wrongly": "health.schedule-extra",
};

/** Creates the check; nothing is checked before `start` or `lintAll`. */
export function createScheduleLint({ reader, clock, events, log, times }: ScheduleLintDeps): ScheduleLint {
  const found = new Map<string, ScheduleLintReason[]>();
  const changed = new Set<string>();
  let timer: Timer | null = null;
  let working: Promise<void> | null = null;
  let stopped = false;

  const lintSchedules = async (ids: readonly string[]): Promise<void> => {
    // Created for each run, so that the caches do not keep data of past years.
    const offsets = createZoneOffsetLookup(times.data);
    const slice = createTimeSlice(clock, {
      letOthersRun: () => new Promise((resolve) => clock.after(PAUSE_MS, resolve, { background: true })),
    });
    for (const id of ids) {
      if (stopped) return;
      const row = reader.get(bellSchedules, id);
      const timetable = row && loadTimetables(reader, [row], times)[0];
      const deps = { reader, times, offsets, now: clock.now(), isStale: isPlanDirty(reader, id) };
      const findings = timetable ? lintTimetable(timetable, deps) : [];
      if (row && findings.length > 0) found.set(id, [{ level: "yellow", ...toReason(row, findings) }]);
      else found.delete(id);
      if (slice.isOver()) await slice.next();
    }
  };

  const enqueue = (ids: () => readonly string[]): Promise<void> => {
    const before = working ?? Promise.resolve();
    const mine = before
      .then(() => lintSchedules(ids()))
      .catch((error: unknown) =>
        log.error({ event: "bell.schedule_lint_failed", err: error }, "bell schedule lint failed"),
      )
      .finally(() => {
        if (working === mine) working = null;
      });
    working = mine;
    return mine;
  };

  const lintAll = (): Promise<void> =>
    enqueue(() => {
      const all = reader.all<{ id: string }>(`SELECT id FROM ${tableName(bellSchedules)} ORDER BY pk`);
      const ids = new Set(all.map(({ id }) => id));
      for (const id of found.keys()) if (!ids.has(id)) found.delete(id);
      return [...ids];
    });

  const scheduleLint = (): void => {
    timer ??= clock.after(
      CHANGE_DELAY_MS,
      () => {
        timer = null;
        void enqueue(() => {
          const ids = [...changed];
          changed.clear();
          return ids;
        });
      },
      { background: true },
    );
  };

  const unsubscribe = events.on("row.changed", ({ resource, id }) => {
    if (resource === bellSchedules.name) changed.add(id);
    else if (resource === ringLists.name) for (const each of scheduleIdsOf(reader, id)) changed.add(each);
    else return;
    scheduleLint();
  });

  let next: Timer | null = null;
  const scheduleNightlyRun = (delayMs: number): void => {
    const runAndWait = (): void => {
      void lintAll();
      scheduleNightlyRun(nextNightlyRun(times, clock.now()) - clock.now());
    };
    next = clock.after(delayMs, runAndWait, { background: true });
  };
  return {
    start: () => scheduleNightlyRun(FIRST_RUN_DELAY_MS),
    lintAll: lintAll,
    healthReasons: () => [...found.values()].flat().slice(0, MAX_REASONS),
    async stop() {
      stopped = true;
      unsubscribe();
      timer?.cancel();
      next?.cancel();
      await working;
    },
  };
}

/** Epoch ms of the next nightly run. */
function nextNightlyRun({ zones, rules = DEFAULT_CLOCK_RULES, ownZone }: LocalTimeContext, now: number): number {
  const zone = zones.of(ownZone());
  const today = Math.floor((now + zone.offsetAt(now)) / DAY_MS);
  const nights = [0, 1, 2].flatMap(
    (days) => zone.instantOf((today + days) * DAY_MS + NIGHTLY_RUN_LOCAL_MS, rules) ?? [],
  );
  return nights.find((at) => at > now) ?? now + DAY_MS;
}

function toReason({ id, name }: { id: string; name: string }, findings: readonly ScheduleFinding[]) {
  const texts = findings.map(({ kind, count, first }) => sentence(FINDING_CODES[kind], { count, first }));
  return { code: `bells-year:${id}`, reason: sentence("health.schedule", { name, findings: texts.join("; ") }) };
}

function scheduleIdsOf(reader: StoreReader, ringListId: string): string[] {
  const sql = `SELECT s.id FROM ring_lists r JOIN bell_schedules__ring_list_ids l ON l.target = r.pk
    JOIN bell_schedules s ON s.pk = l.owner WHERE r.id = ?`;
  return reader.all<{ id: string }>(sql, ringListId).map(({ id }) => id);
}
