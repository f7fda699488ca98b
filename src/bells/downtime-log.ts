import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import { addActivity } from "../notifications/engine/activity-log.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import notifications from "../resources/notifications/notifications.ts";
import { UNFINISHED_SQL } from "../resources/notifications/pipeline-stages.ts";
import { tableName } from "../schema/catalogue.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";
import { type ClockGap, createClockMonitor } from "./clock-monitor.ts";

/** Records downtime: stalls, suspends and clock steps. */
export interface DowntimeLog {
  start(): void;
  stop(): Promise<void>;
}

export interface DowntimeLogDeps {
  store: Store;
  clock: Clock;
  log: Log;
  by: ActorContext;
  endpointId(): string;
}

const POLL_INTERVAL_MS = 1_000;
/** Shorter gaps are not recorded. @source docs/decisions/0200-bell-engine-limits.md, Downtime */
const MIN_GAP_MS = 5_000;
/** Most notifications whose activity logs record a gap. @source docs/decisions/0200-bell-engine-limits.md, Downtime */
const MAX_NOTIFICATIONS = 100;

/** Highest priority first. */
const SELECT_ACTIVE_NOTIFICATIONS = `SELECT id FROM ${tableName(notifications)} WHERE ${UNFINISHED_SQL} AND created_at <= ?
  ORDER BY priority_level, pk LIMIT ${MAX_NOTIFICATIONS}`;

/**
 * Checks each second for downtime: a stalled process, a suspended machine or a clock step. Each gap is an activity of the
 * node and an entry in the activity logs of the notifications that were active at that time. Missed rings have their own
 * records. @source docs/decisions/0015-bell-engine.md, Running
 */
export function createDowntimeLog({ store, clock, log, by, endpointId }: DowntimeLogDeps): DowntimeLog {
  const checkClock = createClockMonitor(clock);
  let timer: Timer | null = null;
  let writing: Promise<void> = Promise.resolve();

  const write = (tx: Transaction, gap: ClockGap): void => {
    const value = { kind: gap.kind, seconds: Math.round(gap.ms / 1_000), reason: describeGap(gap) };
    const where = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId() };
    tx.create(endpointActivities, { ...where, type: "log-message", severity: "warn", value }, by);
    const began = clock.now() - (gap.kind === "back" ? 0 : gap.ms);
    for (const { id } of tx.all<{ id: string }>(SELECT_ACTIVE_NOTIFICATIONS, began)) {
      const details = {
        message: sentence("activity.downtime", { reason: value.reason }),
        seconds: value.seconds,
      };
      addActivity(tx, { notificationId: id, type: "info", endpointId: endpointId(), details }, by);
    }
  };

  const poll = (): void => {
    const { gap } = checkClock();
    if (gap && gap.ms >= MIN_GAP_MS) {
      log.warn({ event: "bell.downtime_detected", gap }, "downtime detected");
      writing = writing
        .then(() => store.write((tx) => write(tx, gap)))
        .catch((error: unknown) =>
          log.error({ event: "bell.downtime_record_failed", err: error, gap }, "failed to record downtime"),
        );
    }
    timer = clock.after(POLL_INTERVAL_MS, poll, { background: true });
  };

  return {
    start: poll,
    async stop() {
      timer?.cancel();
      await writing;
    },
  };
}

function describeGap({ kind, ms }: ClockGap): Sentence {
  const seconds = Math.round(ms / 1_000);
  if (kind === "stalled") return sentence("activity.stalled", { seconds });
  if (kind === "back") return sentence("health.clock-back", { seconds });
  return sentence("activity.clock-forward", { seconds });
}
