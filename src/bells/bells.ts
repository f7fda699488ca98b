import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Broadcaster } from "../broadcast/broadcaster.ts";
import type { By, Store } from "../store/store.ts";
import { createPlanSource } from "./plan-source.ts";
import { createPlanner, type Planner } from "./planner.ts";
import { createRingPort } from "./ring-port.ts";
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
export interface BellNeeds extends PlanNeeds {
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
  const ticker = createTicker({ store, clock, log, planner, port: createRingPort(needs) });
  return { start: ticker.start, stop: ticker.stop };
}
