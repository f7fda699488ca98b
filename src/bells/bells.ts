import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import bulkExceptions from "../resources/bells/bell-schedules-bulk-exceptions.ts";
import dayChanges from "../resources/bells/bell-schedules-day-changes.ts";
import type { ActorContext, Store, Sync } from "../store/store.ts";
import { DEFAULT_CLOCK_RULES } from "../time-zones/time-zones.ts";
import { type ExceptionEdit, resumeBulkChange, unfinishedChanges } from "./bulk-change-job.ts";
import { bulkExceptionEdit } from "./bulk-exception-hooks.ts";
import { dayChangeEdit, dayChangeRevertEdit } from "./day-change-hooks.ts";
import { createDowntimeLog } from "./downtime-log.ts";
import { createPlanSource } from "./plan-source.ts";
import { createPlanner, type Planner } from "./planner.ts";
import { createRingExecutor, type RingExecutorDeps, resumeFailoverRings } from "./ring-executor.ts";
import { createTicker } from "./ticker.ts";
import type { LocalTimeContext } from "./timetables.ts";

/** Bells, scheduled notifications and display-clear schedules of one node. */
export interface Bells {
  /** Resumes interrupted bulk changes and failover rings and starts the scheduler. */
  start(): void;
  stop(): Promise<void>;
}

export interface BellPlannerDeps {
  store: Store;
  clock: Clock;
  times: LocalTimeContext;
}

export interface BellDeps
  extends BellPlannerDeps,
    Pick<RingExecutorDeps, "duty" | "isAssignmentOutdated" | "failoverDuty"> {
  log: Log;
  planner: Planner;
  notificationService: NotificationService;
  by: ActorContext;
  endpointId(): string;
}

/** Creates the planner. Plans depend on the time zone data, too; zone-changes.ts follows those. */
export function createBellPlanner({ store, clock, times }: BellPlannerDeps): Planner {
  const { gap, fold } = times.rules ?? DEFAULT_CLOCK_RULES;
  const basis = (): string => [gap, fold, times.ownZone()].join(" ");
  return createPlanner({ store, clock, source: createPlanSource(times), basis });
}

/** Creates the bell engine; nothing rings before `start`. */
export function createBells(deps: BellDeps): Bells {
  const { store, clock, log, planner } = deps;
  const abortController = new AbortController();
  const ringing = { ...deps, signal: abortController.signal };
  const ringExecutor = createRingExecutor(ringing);
  const ticker = createTicker({ store, clock, log, planner, ringExecutor });
  const downtimeLog = createDowntimeLog(deps);
  let pendingBulkChanges: Promise<void> = Promise.resolve();
  return {
    start() {
      pendingBulkChanges = resumeBulkChanges(deps, abortController.signal);
      ticker.start();
      void resumeFailoverRings(ringing).catch((error) =>
        log.error({ event: "bell.failover_resume_failed", err: error }, "failed to resume failover rings"),
      );
      downtimeLog.start();
    },
    async stop() {
      abortController.abort();
      await Promise.all([ticker.stop(), downtimeLog.stop(), pendingBulkChanges]);
    },
  };
}

/** Completes bulk changes that were committed before the process ended. */
async function resumeBulkChanges({ store, clock, log, by }: BellDeps, signal: AbortSignal): Promise<void> {
  for (const { id, resource, back } of unfinishedChanges(store)) {
    try {
      const changed = back ? dayChangeRevertEdit(id) : exceptionEditOf({ id, resource }, store, by);
      await resumeBulkChange({ id, changed }, by, { store, clock, signal });
      if (back) await store.write((tx) => void (tx.get(dayChanges, id) && tx.remove(dayChanges, id, by)) as Sync<void>);
    } catch (error) {
      if (signal.aborted) return;
      log.error({ event: "bell.bulk_change_failed", err: error, changeId: id }, "bulk change of bell schedules failed");
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
