import type { Clock, Timer } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import bellSchedules from "../resources/bells/bell-schedules.ts";
import ringLists from "../resources/bells/ring-lists.ts";
import { ZONE_MEANINGS } from "../resources/bells/time-zones.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { Reader } from "../store/store.ts";
import { isStalePlan } from "./ring-book.ts";
import { type BellTimes, timetablesOf } from "./timetables.ts";
import { faultsOfYear, formattedOffsets, type YearFault } from "./year-faults.ts";
import { DAY_MS, DEFAULT_CLOCK_RULES } from "./zones.ts";

/** Something wrong with the rings to come, for the health of the appliance. */
export interface YearReason {
  level: "yellow";
  code: string;
  reason: string;
}

/** Looks through the rings of the next year, all schedules by night and those that are written soon afterwards. */
export interface YearCheck {
  start(): void;
  /** Looks through all schedules, a little at a time. */
  run(): Promise<void>;
  /** What the last looks found. */
  source(): readonly YearReason[];
  stop(): Promise<void>;
}

/** What the check needs. */
export interface YearCheckNeeds {
  reader: Reader;
  clock: Clock;
  events: Events;
  log: Log;
  times: BellTimes;
}

/** Local time of the nightly look. own choice */
const NIGHT_MS = 3.25 * 3_600_000;
/** After a start, when all else is ready. own choice */
const FIRST_AFTER_MS = 60_000;
/** After a write, when its plan is made. own choice */
const CHANGED_AFTER_MS = 5_000;
/** Longest work in one turn. @source bells.md, Proof: in slices */
const SLICE_MS = 5;
/** Nobody waits for it: all others have most of the time. own choice */
const REST_MS = 20;
const MOST_TOLD = 20;

const WORDS: Readonly<Record<YearFault["kind"], string>> = {
  twice: "come twice",
  "out of order": "come out of order",
  "wrong time": "come at another time than the clock on the wall shows",
  "reaches nobody": "reach nobody",
  "not planned": "of the next two days are not planned",
  "planned wrongly": "of the next two days are planned and are not in the schedule",
};

/** Makes the check; nothing is looked at before `start` or `run`. */
export function createYearCheck({ reader, clock, events, log, times }: YearCheckNeeds): YearCheck {
  const found = new Map<string, YearReason[]>();
  const changed = new Set<string>();
  let timer: Timer | null = null;
  let working: Promise<void> | null = null;
  let stopped = false;

  const look = async (ids: readonly string[]): Promise<void> => {
    // Made anew each time: time zone data of a year ago are of no use.
    const offsets = formattedOffsets((zone) => ZONE_MEANINGS[zone] ?? zone);
    let began = clock.monotonicMs();
    for (const id of ids) {
      if (stopped) return;
      const row = reader.get(bellSchedules, id);
      const timetable = row && timetablesOf(reader, [row], times)[0];
      const needs = { reader, times, offsets, now: clock.now(), isStale: isStalePlan(reader, id) };
      const faults = timetable ? faultsOfYear(timetable, needs) : [];
      if (row && faults.length > 0) found.set(id, [{ level: "yellow", ...reasonOf(row, faults) }]);
      else found.delete(id);
      if (clock.monotonicMs() - began < SLICE_MS) continue;
      await new Promise<void>((resolve) => clock.after(REST_MS, resolve, { background: true }));
      began = clock.monotonicMs();
    }
  };

  const work = (ids: () => readonly string[]): Promise<void> => {
    const before = working ?? Promise.resolve();
    const mine = before
      .then(() => look(ids()))
      .catch((error: unknown) => log.error({ err: error }, "the rings of the next year could not be looked through"))
      .finally(() => {
        if (working === mine) working = null;
      });
    working = mine;
    return mine;
  };

  const runAll = (): Promise<void> =>
    work(() => {
      const all = reader.all<{ id: string }>(`SELECT id FROM ${tableOf(bellSchedules)} ORDER BY pk`);
      const ids = new Set(all.map(({ id }) => id));
      for (const id of found.keys()) if (!ids.has(id)) found.delete(id);
      return [...ids];
    });

  const lookSoon = (): void => {
    timer ??= clock.after(
      CHANGED_AFTER_MS,
      () => {
        timer = null;
        void work(() => {
          const ids = [...changed];
          changed.clear();
          return ids;
        });
      },
      { background: true },
    );
  };

  const forget = events.on("row.changed", ({ resource, id }) => {
    if (resource === bellSchedules.name) changed.add(id);
    else if (resource === ringLists.name) for (const each of schedulesOf(reader, id)) changed.add(each);
    else return;
    lookSoon();
  });

  let next: Timer | null = null;
  const runAfter = (delayMs: number): void => {
    const runAndWait = (): void => {
      void runAll();
      runAfter(nextNight(times, clock.now()) - clock.now());
    };
    next = clock.after(delayMs, runAndWait, { background: true });
  };
  return {
    start: () => runAfter(FIRST_AFTER_MS),
    run: runAll,
    source: () => [...found.values()].flat().slice(0, MOST_TOLD),
    async stop() {
      stopped = true;
      forget();
      timer?.cancel();
      next?.cancel();
      await working;
    },
  };
}

/** The next time that the local clock shows the hour of the nightly look, epoch ms. */
function nextNight({ zones, rules = DEFAULT_CLOCK_RULES, ownZone }: BellTimes, now: number): number {
  const zone = zones.of(ownZone());
  const today = Math.floor((now + zone.offsetAt(now)) / DAY_MS);
  const nights = [0, 1, 2].flatMap((days) => zone.instantOf((today + days) * DAY_MS + NIGHT_MS, rules) ?? []);
  return nights.find((at) => at > now) ?? now + DAY_MS;
}

function reasonOf({ id, name }: { id: string; name: string }, faults: readonly YearFault[]) {
  const words = faults.map(({ kind, count, first }) => `${count} rings ${WORDS[kind]} (the first at ${first})`);
  return { code: `bells-year:${id}`, reason: `Bell schedule ${name}: ${words.join("; ")}.` };
}

function schedulesOf(reader: Reader, ringListId: string): string[] {
  const sql = `SELECT s.id FROM ring_lists r JOIN bell_schedules__ring_list_ids l ON l.target = r.pk
    JOIN bell_schedules s ON s.pk = l.owner WHERE r.id = ?`;
  return reader.all<{ id: string }>(sql, ringListId).map(({ id }) => id);
}
