import { toOccurrence } from "../../../src/bells/plan-source.ts";
import { createPlanner, type Planner } from "../../../src/bells/planner.ts";
import type { MissCause, RingRow } from "../../../src/bells/ring-repository.ts";
import {
  expandSchedule,
  type RingListTimes,
  type RingSchedule,
  type ScheduleException,
} from "../../../src/bells/schedule-expansion.ts";
import { BELL_TABLES } from "../../../src/bells/schema.ts";
import { createTicker, type RingExecutor, type Ticker } from "../../../src/bells/ticker.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { createTimeZones } from "../../../src/time-zones/time-zones.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

/** Planner and ticker on a store of their own, with rings counted instead of sounded. */
export interface TickerScene {
  store: Store;
  clock: FakeClock;
  planner: Planner;
  ticker: Ticker;
  /** What is rung; change it, then `written`. */
  schedule: RingSchedule;
  ringLists: RingListTimes[];
  exceptions: ScheduleException[];
  /** What happened to rings, such as `begin 08:00:00`, with the wall time. */
  told: string[];
  missed: { ring: RingRow; cause: MissCause }[];
  /** Ids of rings that have sounded. */
  begun: Set<string>;
  /** Local times of rings that can't be made ready, and of those that can't be taken away. */
  broken: Set<string>;
  stuck: Set<string>;
  /** Local times of rings that are to be made ready anew, once. */
  stale: Set<string>;
  /** Runs once while the ring of this local time is prepared. */
  meanwhile: Map<string, () => Promise<void>>;
  /** As the write of a schedule does. */
  written(): Promise<void>;
  /** Ends the ticker without a word, waits, and starts another on the same data. */
  crash(downMs: number): Promise<void>;
  states(): string[];
  close(): Promise<void>;
}

/** Opens a scene: a ring list with the times given, every day, in UTC from 2026-01-01 to 2026-12-31; the ticker runs. */
export async function openTicker(times: readonly string[], start?: number): Promise<TickerScene> {
  const clock = createFakeClock(start);
  const fail = (error: unknown): never => {
    throw error;
  };
  const store = openStore({
    dataDir: makeTempDir(),
    catalogue: createCatalogue([]),
    tables: BELL_TABLES,
    clock,
    events: createEvents(fail),
    log: silentLog,
    onFatal: fail,
  });
  const zones = createTimeZones(machineZoneData());
  const scene = {
    ...{ store, clock, told: [], missed: [], begun: new Set<string>(), exceptions: [] },
    ...{ broken: new Set<string>(), stuck: new Set<string>(), stale: new Set<string>(), meanwhile: new Map() },
    schedule: {
      ...{ id: "s", timeZone: "UTC", startDate: "2026-01-01", endDate: "2026-12-31", numWeeks: 1 },
      entries: [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId: "l" })),
    },
    ringLists: [{ id: "l", entries: times.map((time) => entryAt(time)) }],
  } as unknown as TickerScene;
  const tell = (what: string) => (ring: RingRow) =>
    void scene.told.push(`${what} ${ring.localTime} at ${new Date(clock.now()).toISOString().slice(11, 23)}`);
  const ringExecutor: RingExecutor = {
    async prepare(ring) {
      tell("prepare")(ring);
      const meanwhile = scene.meanwhile.get(ring.localTime);
      scene.meanwhile.delete(ring.localTime);
      await meanwhile?.();
      if (scene.broken.has(ring.localTime)) throw new Error("it can't be made ready");
      return ring.entryId?.endsWith("!") ? "nothing there" : null;
    },
    duty: (ring) => (scene.stale.delete(ring.localTime) ? "replan" : "go"),
    arm: (rings) => rings.forEach(tell("arm")),
    start(rings) {
      for (const ring of rings) {
        tell(scene.begun.has(ring.id) ? "DOUBLE" : "begin")(ring);
        scene.begun.add(ring.id);
      }
    },
    async cancel(ring) {
      tell("withdraw")(ring);
      if (scene.stuck.has(ring.localTime)) throw new Error("it can't be taken away");
    },
    hasStarted: ({ id }) => scene.begun.has(id),
    recordMissed: (_tx, rings, cause) => void scene.missed.push(...rings.map((ring) => ({ ring, cause }))),
  };
  const begin = (): void => {
    const source = {
      owners: () => [{ id: scene.schedule.id, kind: "bell" as const }],
      occurrences: (_reader: unknown, _kind: unknown, _owner: string, from: number, to: number) =>
        expandSchedule(scene.schedule, scene.ringLists, scene.exceptions, from, to, { zones }).map(toOccurrence),
    };
    scene.planner = createPlanner({ store, clock, source, basis: () => "test" });
    scene.ticker = createTicker({ store, clock, log: silentLog, planner: scene.planner, ringExecutor });
    scene.ticker.start();
  };
  scene.written = () => store.write((tx) => scene.planner.replan(tx, "bell", "s"));
  scene.crash = async (downMs) => {
    await scene.ticker.stop();
    await clock.advance(downMs);
    begin();
    await settle();
  };
  scene.states = () =>
    store
      .all<{ time: string; state: string }>("SELECT local_time AS time, state FROM bell_rings ORDER BY at LIMIT 20")
      .map(({ time, state }) => `${time} ${state}`);
  scene.close = async () => {
    await scene.ticker.stop();
    await store.close();
  };
  begin();
  await settle();
  await clock.advance(300);
  return scene;
}

/** Lets the first look come to its end: it is a chain of many commits, for which the fake clock does not wait. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A ring of a ring list. */
export function entryAt(time: string, id = `e${time}`) {
  return { id, time, messageTemplateId: "m", deviceGroupIds: [], distributionListIds: [] };
}
