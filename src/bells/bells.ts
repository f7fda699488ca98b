import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import type { ActorContext, Store, Sync } from "../store/store.ts";
import { type ExceptionEdit, resumeBulkChange, unfinishedChanges } from "./bulk-change-job.ts";
import { bulkExceptionEdit } from "./bulk-exception-hooks.ts";
import { dayChangeEdit, dayChangeRevertEdit } from "./day-change-hooks.ts";
import { createDowntimeLog } from "./downtime-log.ts";
import { createPlanSource } from "./plan-source.ts";
import { createPlanner, type Planner } from "./planner.ts";
import { createRingExecutor, type RingExecutorDeps, resumeFailoverRings } from "./ring-executor.ts";
import { createTicker } from "./ticker.ts";
import { DEFAULT_CLOCK_RULES } from "./time-zones.ts";
import type { LocalTimeContext } from "./timetables.ts";

/** The bells, scheduled messages and clearings of an appliance. */
export interface Bells {
  /** Takes up what was planned; what is due rings from now on. */
  start(): void;
  stop(): Promise<void>;
}

/** What planning needs. */
export interface BellPlannerDeps {
  store: Store;
  clock: Clock;
  times: LocalTimeContext;
}

/** What the bells are made of. */
export interface BellDeps
  extends BellPlannerDeps,
    Pick<RingExecutorDeps, "duty" | "isAssignmentOutdated" | "failoverDuty"> {
  log: Log;
  planner: Planner;
  notificationService: NotificationService;
  by: ActorContext;
  endpointId(): string;
}

/** Makes the planner of an appliance; its plans rest on the time zones that this program brings along. */
export function createBellPlanner({ store, clock, times }: BellPlannerDeps): Planner {
  const { gap, fold } = times.rules ?? DEFAULT_CLOCK_RULES;
  const basis = (): string => [process.versions.tz, gap, fold, times.ownZone()].join(" ");
  return createPlanner({ store, clock, source: createPlanSource(times), basis });
}

/** Makes the bells; nothing rings before `start`. */
export function createBells(needs: BellDeps): Bells {
  const { store, clock, log, planner } = needs;
  const abortController = new AbortController();
  const ringing = { ...needs, signal: abortController.signal };
  const ringExecutor = createRingExecutor(ringing);
  const ticker = createTicker({ store, clock, log, planner, ringExecutor });
  const downtimeLog = createDowntimeLog(needs);
  let pendingBulkChanges: Promise<void> = Promise.resolve();
  return {
    start() {
      pendingBulkChanges = resumeBulkChanges(needs, abortController.signal);
      ticker.start();
      void resumeFailoverRings(ringing).catch((error) =>
        log.error({ err: error }, "what stood in for others was left"),
      );
      downtimeLog.start();
    },
    async stop() {
      abortController.abort();
      await Promise.all([ticker.stop(), downtimeLog.stop(), pendingBulkChanges]);
    },
  };
}

/** Carries out what an ended process had decided. */
async function resumeBulkChanges({ store, clock, log, by }: BellDeps, signal: AbortSignal): Promise<void> {
  for (const { id, resource, back } of unfinishedChanges(store)) {
    try {
      const changed = back ? dayChangeRevertEdit(id) : exceptionEditOf({ id, resource }, store, by);
      await resumeBulkChange({ id, changed }, by, { store, clock, signal });
      if (back) await store.write((tx) => void (tx.get(dayChanges, id) && tx.remove(dayChanges, id, by)) as Sync<void>);
    } catch (error) {
      if (signal.aborted) return;
      log.error({ err: error, changeId: id }, "a change of schedules was not carried out");
    }
  }
}

function exceptionEditOf(
  { id, resource }: { id: string; resource: string },
  store: Store,
  by: ActorContext,
): ExceptionEdit {
  const dayChange = resource === dayChanges.name ? store.get(dayChanges, id) : null;
  if (dayChange) return dayChangeEdit(dayChange, store, by);
  const bulk = resource === bulkExceptions.name ? store.get(bulkExceptions, id) : null;
  return bulk ? bulkExceptionEdit(bulk) : () => null;
}
