import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { addActivity } from "../notifications/engine/activity-log.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import notifications from "../resources/notifications/notifications.ts";
import { tableName } from "../schema/catalogue.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";
import { type ClockGap, createClockMonitor } from "./clock-monitor.ts";

/** Writes down when time went on without the appliance. */
export interface DowntimeLog {
  start(): void;
  stop(): Promise<void>;
}

/** What the notes need. */
export interface DowntimeLogDeps {
  store: Store;
  clock: Clock;
  log: Log;
  by: ActorContext;
  endpointId(): string;
}

const POLL_INTERVAL_MS = 1_000;
/** Shorter ones are not worth a note. own choice */
const MIN_GAP_MS = 5_000;
/** Messages in whose diaries a gap is noted. own choice */
const MAX_NOTIFICATIONS = 100;

/** The most urgent first. */
const SELECT_ACTIVE_NOTIFICATIONS = `SELECT id FROM ${tableName(notifications)} WHERE stage NOT IN ('settled', 'draft') AND created_at <= ?
  ORDER BY priority_level, pk LIMIT ${MAX_NOTIFICATIONS}`;

/**
 * Looks each second whether the appliance stood still, was suspended or had its clock set. Each such gap is an activity of
 * the appliance, and stands in the diaries of the messages that were on air: an emergency that was slept through says so.
 * What rings became of it, their own records say. @source bells.md, Running: never silence without a record
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
      const details = { message: `While it was on air: ${value.reason}`, seconds: value.seconds };
      addActivity(tx, { notificationId: id, type: "info", endpointId: endpointId(), details }, by);
    }
  };

  const poll = (): void => {
    const { gap } = checkClock();
    if (gap && gap.ms >= MIN_GAP_MS) {
      log.warn({ gap }, "time went on without the appliance");
      writing = writing
        .then(() => store.write((tx) => write(tx, gap)))
        .catch((error: unknown) => log.error({ err: error, gap }, "a gap in time was not written down"));
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

function describeGap({ kind, ms }: ClockGap): string {
  const seconds = `${Math.round(ms / 1_000)} s`;
  if (kind === "stalled") return `The appliance stood still for ${seconds}.`;
  if (kind === "back") return `The clock was set back by ${seconds}.`;
  return `The clock went on by ${seconds} at once: it was set, or the machine was suspended.`;
}
