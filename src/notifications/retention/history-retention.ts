/**
 * Retention of history: how long deliveries, recipients, answers and positions are kept. The retention of each kind is a
 * setting; retention of replication data is in src/sync/hub/retention.ts, retention of rings in src/bells/planner.ts.
 */

import type { Clock } from "../../lib/clock.ts";
import { ConflictError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { readOperationState, writeOperationState } from "../../ops/operation-state.ts";
import type { Settings } from "../../settings/schema.ts";
import type { ActorContext, Store } from "../../store/store.ts";
import type { CronScheduler } from "../../time-zones/cron-schedule.ts";
import {
  dueNotifications,
  HISTORY_KINDS,
  type HistoryKind,
  reopenRestoredNotifications,
  retentionDays,
} from "./due-notifications.ts";
import { type RemovedRows, removeAnswers, removeDetails, removePositions } from "./remove-details.ts";

export interface HistoryRetentionDeps {
  store: Store;
  clock: Clock;
  log: Log;
  by: ActorContext;
  settings: Settings["retention"];
  schedule: CronScheduler;
  /** The history of a notification still has to be sent to the cloud. */
  isUnsent(notificationId: string): boolean;
}

/** History of one kind that is past its retention. */
export interface DueHistory {
  kind: HistoryKind;
  /** Days that it is kept; null for ever. */
  days: number | null;
  notifications: number;
  /** Deliveries and recipients, by the counters of the notifications. */
  deliveries: number;
  recipients: number;
  /** Epoch ms of the oldest; null without any. */
  oldestAt: number | null;
}

/** What a run removed. */
export interface RetentionRun extends RemovedRows {
  at: number;
  notifications: number;
}

export interface RetentionReport {
  /** Cron expression; null: only on request. */
  schedule: string | null;
  isRunning: boolean;
  lastRun: RetentionRun | null;
  due: DueHistory[];
  /** Days that answers and positions are kept, whatever the kind; null for ever. */
  answersDays: number | null;
  positionsDays: number | null;
  /** Epoch ms until which the daily job removes nothing; null: it does not wait. */
  waitsUntil: number | null;
  /** Notifications past their retention that a legal hold or an open incident keeps. */
  heldNotifications: number;
}

/** Removes history that is past its retention, once a day and on request. */
export interface HistoryRetention {
  start(): void;
  stop(): Promise<void>;
  /** Throws ConflictError while a run is in progress. */
  run(by?: ActorContext): Promise<RetentionRun>;
  /** As `run`, without waiting; a failure is logged. */
  begin(by?: ActorContext): void;
  /** What the next run would remove. */
  report(): Promise<RetentionReport>;
}

const DAY_MS = 86_400_000;
const STATE_KEY = "history-retention";
const WAIT_KEY = "history-retention-wait";
/** The daily job was not due for longer only if the machine was off, is new to this job, or has the wrong date. */
const LONGEST_PAUSE_MS = 31 * DAY_MS;
/** How long people have to look at what is due, or to set the clock right. */
const WAIT_MS = 7 * DAY_MS;

/** When the daily job was due last, and until when it removes nothing. */
interface Wait {
  dueAt: number;
  until: number | null;
}
const NOTHING: RemovedRows = { deliveries: 0, recipients: 0, activities: 0, answers: 0, positions: 0 };

/** @source docs/decisions/0761-retention-of-history.md */
export function createHistoryRetention(deps: HistoryRetentionDeps): HistoryRetention {
  const { store, clock, log, settings, isUnsent } = deps;
  const shutdown = new AbortController();
  const { signal } = shutdown;
  let unschedule = (): void => undefined;
  let running: Promise<RetentionRun> | null = null;

  async function removeDue(by: ActorContext): Promise<RetentionRun> {
    const at = clock.now();
    const removed = { ...NOTHING };
    let notifications = 0;
    const add = (rows: Partial<RemovedRows>): void => {
      for (const [name, n] of Object.entries(rows)) removed[name as keyof RemovedRows] += n;
    };
    await reopenRestoredNotifications({ store, clock, signal });
    for await (const due of dueNotifications(deps, at)) {
      if (signal.aborted) break;
      if (due.isHeld || isUnsent(due.id)) continue;
      if (due.details) {
        add(await removeDetails({ store, clock, signal }, due.pk));
        notifications += 1;
      } else add(await removeAnswers({ store, clock, signal }, due.pk));
    }
    const positionsDays = retentionDays(settings.positions);
    if (positionsDays !== null) add(await removePositions({ store, clock, signal }, at - positionsDays * DAY_MS));
    const run: RetentionRun = { at, notifications, ...removed };
    const isChanged = Object.values(removed).some((n) => n > 0);
    await store.write((tx) => {
      writeOperationState(tx, STATE_KEY, run);
      const details = { notifications, ...removed };
      if (isChanged) tx.addAuditEvent({ op: "history-removed", resource: "notifications", rowId: null, details }, by);
    });
    log.info({ event: "history.removed", ...removed, notifications }, "old history removed");
    return run;
  }

  function run(by = deps.by): Promise<RetentionRun> {
    if (running !== null)
      return Promise.reject(new ConflictError(sentence("error.old-history-is-already-being-removed")));
    running = removeDue(by).finally(() => {
      running = null;
    });
    return running;
  }

  function begin(by?: ActorContext): void {
    if (running !== null) throw new ConflictError(sentence("error.old-history-is-already-being-removed"));
    void run(by).catch((error: unknown) =>
      log.error({ event: "history.removal_failed", err: error }, "removing old history failed; the next run continues"),
    );
  }

  /**
   * What a wrong date makes due cannot be brought back: after a long pause, and before the first removal, the job waits.
   */
  async function beginUnlessWaiting(): Promise<void> {
    const now = clock.now();
    const last = readOperationState<Wait>(store, WAIT_KEY);
    const isAfterPause = last === null || now - last.dueAt > LONGEST_PAUSE_MS;
    const isWaiting = last !== null && last.until !== null && now < last.until && now >= last.dueAt;
    const until = isAfterPause ? now + WAIT_MS : isWaiting ? last.until : null;
    await store.write((tx) => writeOperationState(tx, WAIT_KEY, { dueAt: now, until } satisfies Wait));
    if (until === null) begin();
    else
      log.warn(
        { event: "history.removal_waits", until },
        "old history is not removed yet: check the date and what is due",
      );
  }

  return {
    run,
    begin,
    start() {
      if (settings.schedule !== null)
        unschedule = deps.schedule(settings.schedule, () => running ?? beginUnlessWaiting());
    },
    async stop() {
      unschedule();
      shutdown.abort();
      await running?.catch(() => undefined);
    },
    async report() {
      const due = new Map(HISTORY_KINDS.map((kind) => [kind, emptyKind(kind, retentionDays(settings[kind]))]));
      let heldNotifications = 0;
      for await (const { kind, createdAt, details, isHeld, deliveries, recipients } of dueNotifications(
        deps,
        clock.now(),
      )) {
        const counted = due.get(kind);
        if (isHeld) heldNotifications += 1;
        if (isHeld || !details || !counted) continue;
        counted.notifications += 1;
        counted.deliveries += deliveries;
        counted.recipients += recipients;
        counted.oldestAt ??= createdAt;
      }
      return {
        schedule: settings.schedule,
        isRunning: running !== null,
        lastRun: readOperationState<RetentionRun>(store, STATE_KEY),
        due: [...due.values()],
        answersDays: retentionDays(settings.answers),
        positionsDays: retentionDays(settings.positions),
        waitsUntil: readOperationState<Wait>(store, WAIT_KEY)?.until ?? null,
        heldNotifications,
      };
    },
  };
}

function emptyKind(kind: HistoryKind, days: number | null): DueHistory {
  return { kind, days, notifications: 0, deliveries: 0, recipients: 0, oldestAt: null };
}
