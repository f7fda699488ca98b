import type { Timer } from "../../lib/clock.ts";
import type { StoreReader, Transaction } from "../../store/store.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";

/** Types of scheduled actions; those that get help go first. */
const TIMER_TYPES = ["escalation", "queue-limit", "catch-up", "repeat", "tracking"] as const;
export type TimerType = (typeof TIMER_TYPES)[number];

/** A scheduled action of a message. */
export interface NotificationTimer {
  /** Internal key of the message. */
  notification: number;
  notificationId: string;
  kind: TimerType;
  /** Identifies the action among those of its type. */
  ref: string;
  /** Epoch ms. */
  at: number;
  /** The decision made when it was due, still to be carried out; null before. */
  decided: string | null;
}

/**
 * Carries out a due action, and deletes its row in the same transaction: a row whose handler throws stays and is
 * retried.
 */
export type TimerHandler = (due: NotificationTimer) => Promise<void>;

export type TimerSchedulerDeps = Pick<PipelineStageDeps, "store" | "clock" | "log" | "events"> & {
  handlers: Readonly<Record<TimerType, TimerHandler>>;
};

/** Carries out scheduled actions, each once, including those that became due while the appliance was down. */
export interface TimerScheduler {
  start(): void;
  /** Resolves when no action is in progress. */
  stop(): Promise<void>;
}

type TimerRow = NotificationTimer & Record<string, string | number | null>;

/** Maximum time between two polls, since the wall clock may be set. */
const MAX_POLL_INTERVAL_MS = 60_000;
/** A full disk may have space again later. */
const RETRY_MS = 5_000;
/** More due actions of a type wait for the next poll. */
const MAX_BATCH = 200;

const DUE_TIMERS_SQL = `SELECT d.notification, n.id AS notificationId, d.kind, d.ref, d.at, d.decided
  FROM notification_timers d JOIN notifications n ON n.pk = d.notification
  WHERE d.kind = ? AND d.at <= ? ORDER BY d.at LIMIT ${MAX_BATCH}`;

/** Schedules an action of a message for `at`, epoch ms; an existing one stays. */
export function scheduleTimer(
  tx: Transaction,
  row: { pk: number; id: string },
  due: Pick<NotificationTimer, "kind" | "ref" | "at">,
): void {
  const sql = "INSERT OR IGNORE INTO notification_timers (notification, kind, ref, at) VALUES (?, ?, ?, ?)";
  if (tx.run(sql, row.pk, due.kind, due.ref, due.at).changes === 0) return;
  tx.emit("notification.timer-scheduled", { notificationId: row.id });
}

/** Moves an action to the earlier time `at`, or schedules it, with the decision made about it. */
export function advanceTimer(
  tx: Transaction,
  row: { pk: number; id: string },
  { kind, ref, at }: Pick<NotificationTimer, "kind" | "ref" | "at">,
  decided: string,
): void {
  tx.run(
    `INSERT INTO notification_timers (notification, kind, ref, at, decided) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (notification, kind, ref) DO UPDATE SET at = min(at, excluded.at), decided = excluded.decided`,
    ...[row.pk, kind, ref, at, decided],
  );
  tx.emit("notification.timer-scheduled", { notificationId: row.id });
}

/** Moves an action to `at`, unless a decision about it was made in the meantime. */
export function postponeTimer(tx: Transaction, { notification, kind, ref }: NotificationTimer, at: number): void {
  const sql =
    "UPDATE notification_timers SET at = ? WHERE notification = ? AND kind = ? AND ref = ? AND decided IS NULL";
  tx.run(sql, at, notification, kind, ref);
}

/** Deletes a due action; false when it no longer exists. */
export function completeTimer(
  tx: Transaction,
  { notification, kind, ref }: Omit<NotificationTimer, "at" | "decided">,
): boolean {
  const sql = "DELETE FROM notification_timers WHERE notification = ? AND kind = ? AND ref = ?";
  return tx.run(sql, notification, kind, ref).changes === 1;
}

/** Stores the decision, so that a crash before it is carried out does not lose it. */
export function recordTimerDecision(
  tx: Transaction,
  { notification, kind, ref }: NotificationTimer,
  decided: string,
): void {
  const sql = "UPDATE notification_timers SET decided = ? WHERE notification = ? AND kind = ? AND ref = ?";
  tx.run(sql, decided, notification, kind, ref);
}

/** Creates the scheduler; nothing runs before `start`. */
export function createTimerScheduler({ store, clock, log, events, handlers }: TimerSchedulerDeps): TimerScheduler {
  const busy = new Set<string>();
  const running = new Set<Promise<void>>();
  let timer: Timer | null = null;
  let state: "new" | "on" | "off" = "new";
  let pollScheduled = false;

  const poll = (): void => {
    if (state !== "on") return;
    timer?.cancel();
    const now = clock.now();
    for (const due of TIMER_TYPES.flatMap((kind) => store.all<TimerRow>(DUE_TIMERS_SQL, kind, now))) runTimer(due);
    const delayMs = Math.min(MAX_POLL_INTERVAL_MS, (nextDueAt(store, now) ?? Number.POSITIVE_INFINITY) - now);
    timer = clock.after(delayMs, poll, { background: true });
  };

  /** All events of one turn are followed by one poll. */
  const pollSoon = (): void => {
    if (pollScheduled) return;
    pollScheduled = true;
    clock.defer(() => {
      pollScheduled = false;
      poll();
    });
  };

  const runTimer = (due: NotificationTimer): void => {
    const name = `${due.notification} ${due.kind} ${due.ref}`;
    if (busy.has(name)) return;
    busy.add(name);
    const release = (): void => {
      busy.delete(name);
      pollSoon();
    };
    const done = handlers[due.kind](due).then(release, (error: unknown) => {
      // An interrupted action continues after the next start.
      if (state === "off") return;
      log.error(
        { event: "timer.failed", err: error, notificationId: due.notificationId, kind: due.kind },
        "Scheduled action failed; retrying.",
      );
      clock.after(RETRY_MS, release, { background: true });
    });
    running.add(done);
    void done.finally(() => running.delete(done));
  };

  const forget = events.on("notification.timer-scheduled", pollSoon);
  return {
    start() {
      state = "on";
      poll();
    },
    async stop() {
      state = "off";
      forget();
      timer?.cancel();
      await Promise.all(running);
    },
  };
}

function nextDueAt(reader: StoreReader, now: number): number | null {
  const sql = "SELECT min(at) AS at FROM notification_timers WHERE kind = ? AND at > ?";
  const times = TIMER_TYPES.map((kind) => reader.one<{ at: number | null }>(sql, kind, now)?.at ?? null);
  const ahead = times.filter((at) => at !== null);
  return ahead.length > 0 ? Math.min(...ahead) : null;
}
