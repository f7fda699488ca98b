import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Broadcaster } from "../broadcast/broadcaster.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import type { By, Store, Sync } from "../store/store.ts";
import { exceptionsPlaced } from "./bulk-exceptions.ts";
import { exceptionsWith, exceptionsWithout } from "./day-change-behaviour.ts";
import { createGapNotes } from "./gap-notes.ts";
import { createPlanSource } from "./plan-source.ts";
import { createPlanner, type Planner } from "./planner.ts";
import { createRingPort, type RingPortNeeds, resumeStandIns } from "./ring-port.ts";
import { type ExceptionChange, finishChange, leftChanges } from "./sliced-changes.ts";
import { createTicker } from "./ticker.ts";
import type { BellTimes } from "./timetables.ts";
import { DEFAULT_CLOCK_RULES } from "./zones.ts";

/** The bells, scheduled messages and clearings of an appliance. */
export interface Bells {
  /** Takes up what was planned; what is due rings from now on. */
  start(): void;
  stop(): Promise<void>;
}

/** What planning needs. */
export interface PlanNeeds {
  store: Store;
  clock: Clock;
  times: BellTimes;
}

/** What the bells are made of. */
export interface BellNeeds extends PlanNeeds, Pick<RingPortNeeds, "turn" | "isStale" | "standInTurn"> {
  log: Log;
  planner: Planner;
  broadcaster: Broadcaster;
  by: By;
  endpointId(): string;
}

/** Makes the planner of an appliance; its plans rest on the time zones that this program brings along. */
export function createBellPlanner({ store, clock, times }: PlanNeeds): Planner {
  const { gap, fold } = times.rules ?? DEFAULT_CLOCK_RULES;
  const basis = (): string => [process.versions.tz, gap, fold, times.ownZone()].join(" ");
  return createPlanner({ store, clock, source: createPlanSource(times), basis });
}

/** Makes the bells; nothing rings before `start`. */
export function createBells(needs: BellNeeds): Bells {
  const { store, clock, log, planner } = needs;
  const ending = new AbortController();
  const ringing = { ...needs, signal: ending.signal };
  const port = createRingPort(ringing);
  const ticker = createTicker({ store, clock, log, planner, port });
  const gaps = createGapNotes(needs);
  let finishing: Promise<void> = Promise.resolve();
  return {
    start() {
      finishing = finishChanges(needs, ending.signal);
      ticker.start();
      void resumeStandIns(ringing).catch((error) => log.error({ err: error }, "what stood in for others was left"));
      gaps.start();
    },
    async stop() {
      ending.abort();
      await Promise.all([ticker.stop(), gaps.stop(), finishing]);
    },
  };
}

/** Carries out what an ended process had decided. */
async function finishChanges({ store, clock, log, by }: BellNeeds, signal: AbortSignal): Promise<void> {
  for (const { id, resource, back } of leftChanges(store)) {
    try {
      const changed = back ? exceptionsWithout(id) : madeBy({ id, resource }, store, by);
      await finishChange({ id, changed }, by, { store, clock, signal });
      if (back) await store.write((tx) => void (tx.get(dayChanges, id) && tx.remove(dayChanges, id, by)) as Sync<void>);
    } catch (error) {
      if (signal.aborted) return;
      log.error({ err: error, changeId: id }, "a change of schedules was not carried out");
    }
  }
}

function madeBy({ id, resource }: { id: string; resource: string }, store: Store, by: By): ExceptionChange {
  const dayChange = resource === dayChanges.name ? store.get(dayChanges, id) : null;
  if (dayChange) return exceptionsWith(dayChange, store, by);
  const bulk = resource === bulkExceptions.name ? store.get(bulkExceptions, id) : null;
  return bulk ? exceptionsPlaced(bulk) : () => null;
}
