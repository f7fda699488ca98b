import type { Clock, Timer } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { addActivity } from "../broadcast/activities.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import { tableOf } from "../schema/catalogue.ts";
import type { By, Store, Transaction } from "../store/store.ts";
import { type ClockGap, createClockWatch } from "./clock-watch.ts";

/** Writes down when time went on without the appliance. */
export interface GapNotes {
  start(): void;
  stop(): Promise<void>;
}

/** What the notes need. */
export interface GapNotesNeeds {
  store: Store;
  clock: Clock;
  log: Log;
  by: By;
  endpointId(): string;
}

const LOOK_EVERY_MS = 1_000;
/** Shorter ones are not worth a note. own choice */
const LEAST_MS = 5_000;
/** Messages in whose diaries a gap is noted. own choice */
const MOST_MESSAGES = 100;

/** The most urgent first. */
const ON_AIR = `SELECT id FROM ${tableOf(notifications)} WHERE stage NOT IN ('settled', 'draft') AND created_at <= ?
  ORDER BY priority_level, pk LIMIT ${MOST_MESSAGES}`;

/**
 * Looks each second whether the appliance stood still, was suspended or had its clock set. Each such gap is an activity of
 * the appliance, and stands in the diaries of the messages that were on air: an emergency that was slept through says so.
 * What rings became of it, their own records say. @source bells.md, Running: never silence without a record
 */
export function createGapNotes({ store, clock, log, by, endpointId }: GapNotesNeeds): GapNotes {
  const watch = createClockWatch(clock);
  let timer: Timer | null = null;
  let writing: Promise<void> = Promise.resolve();

  const write = (tx: Transaction, gap: ClockGap): void => {
    const value = { kind: gap.kind, seconds: Math.round(gap.ms / 1_000), reason: wordsOf(gap) };
    const where = { extensionId: ONPREM_EXTENSION_ID, endpointId: endpointId() };
    tx.create(endpointActivities, { ...where, type: "log-message", severity: "warn", value }, by);
    const began = clock.now() - (gap.kind === "back" ? 0 : gap.ms);
    for (const { id } of tx.all<{ id: string }>(ON_AIR, began)) {
      const details = { message: `While it was on air: ${value.reason}`, seconds: value.seconds };
      addActivity(tx, { notificationId: id, type: "info", endpointId: endpointId(), details }, by);
    }
  };

  const look = (): void => {
    const { gap } = watch();
    if (gap && gap.ms >= LEAST_MS) {
      log.warn({ gap }, "time went on without the appliance");
      writing = writing
        .then(() => store.write((tx) => write(tx, gap)))
        .catch((error: unknown) => log.error({ err: error, gap }, "a gap in time was not written down"));
    }
    timer = clock.after(LOOK_EVERY_MS, look, { background: true });
  };

  return {
    start: look,
    async stop() {
      timer?.cancel();
      await writing;
    },
  };
}

function wordsOf({ kind, ms }: ClockGap): string {
  const seconds = `${Math.round(ms / 1_000)} s`;
  if (kind === "stalled") return `The appliance stood still for ${seconds}.`;
  if (kind === "back") return `The clock was set back by ${seconds}.`;
  return `The clock went on by ${seconds} at once: it was set, or the machine was suspended.`;
}
