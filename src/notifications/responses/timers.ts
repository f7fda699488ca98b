import type { Timer } from "../../lib/clock.ts";
import type { StoreReader, Transaction } from "../../store/store.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";

/** What follows from a message at a time of its own; what fetches help goes first. */
const TIMER_TYPES = ["escalation", "queue-limit", "repeat", "tracking"] as const;
/** One of the kinds. */
export type TimerType = (typeof TIMER_TYPES)[number];

/** Something that is to follow from a message. */
export interface NotificationTimer {
  /** Internal key of the message. */
  notification: number;
  notificationId: string;
  kind: TimerType;
  /** Which one of its kind. */
  ref: string;
  /** Epoch ms. */
  at: number;
  /** What was decided when it was due, and is still to be done; null before. */
  decided: string | null;
}

/** Does what is due, and takes its row in the transaction that does it: what throws stays and is tried again. */
export type TimerHandler = (due: NotificationTimer) => Promise<void>;

/** What the watch over what is due needs. */
export type TimerSchedulerDeps = Pick<PipelineStageDeps, "store" | "clock" | "log" | "events"> & {
  handlers: Readonly<Record<TimerType, TimerHandler>>;
};

/** Lets follow what is due, once, also what became due while nothing ran. */
export interface TimerScheduler {
  start(): void;
  /** Resolves when nothing is being done any more. */
  stop(): Promise<void>;
}

type TimerRow = NotificationTimer & Record<string, string | number | null>;

/** Clocks are set: it looks again after so long at the latest. own choice */
const MAX_POLL_INTERVAL_MS = 60_000;
/** A disk that is full now may take the row later. */
const RETRY_MS = 5_000;
/** More than these of a kind wait for the next look. */
const MAX_BATCH = 200;

const DUE_TIMERS_SQL = `SELECT d.notification, n.id AS notificationId, d.kind, d.ref, d.at, d.decided
  FROM notification_timers d JOIN notifications n ON n.pk = d.notification
  WHERE d.kind = ? AND d.at <= ? ORDER BY d.at LIMIT ${MAX_BATCH}`;

/** Has something follow from a message at `at`, epoch ms; what is known already stays. */
export function scheduleTimer(
  tx: Transaction,
  row: { pk: number; id: string },
  due: Pick<NotificationTimer, "kind" | "ref" | "at">,
): void {
  const sql = "INSERT OR IGNORE INTO notification_timers (notification, kind, ref, at) VALUES (?, ?, ?, ?)";
  if (tx.run(sql, row.pk, due.kind, due.ref, due.at).changes === 0) return;
  tx.emit("notification.timer-scheduled", { notificationId: row.id });
}

/** Has follow at `at` what was to follow later, if at all, with what was decided about it. */
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

/** Has follow at `at` what was begun, unless something was decided about it meanwhile. */
export function postponeTimer(tx: Transaction, { notification, kind, ref }: NotificationTimer, at: number): void {
  const sql =
    "UPDATE notification_timers SET at = ? WHERE notification = ? AND kind = ? AND ref = ? AND decided IS NULL";
  tx.run(sql, at, notification, kind, ref);
}

/** Takes what was due away; false when it is not there any more. */
export function completeTimer(
  tx: Transaction,
  { notification, kind, ref }: Omit<NotificationTimer, "at" | "decided">,
): boolean {
  const sql = "DELETE FROM notification_timers WHERE notification = ? AND kind = ? AND ref = ?";
  return tx.run(sql, notification, kind, ref).changes === 1;
}

/** Keeps what was decided, for a crash between that and the deed. */
export function recordTimerDecision(
  tx: Transaction,
  { notification, kind, ref }: NotificationTimer,
  decided: string,
): void {
  const sql = "UPDATE notification_timers SET decided = ? WHERE notification = ? AND kind = ? AND ref = ?";
  tx.run(sql, decided, notification, kind, ref);
}

/** Makes the watch; nothing follows before `start`. */
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

  /** Whatever is told or done in one turn is followed by one look. */
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
      // What is stopped half-way goes on after the next start.
      if (state === "off") return;
      log.error({ err: error, notificationId: due.notificationId, kind: due.kind }, "what was due was not done");
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
