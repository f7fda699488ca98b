import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { StoreReader, Transaction } from "../../store/store.ts";
import { LIVE_PAGE } from "../compose/audio-rendering.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { endpointPkOf } from "../recipients/recipient-writer.ts";
import {
  completeTimer,
  type NotificationTimer,
  postponeTimer,
  scheduleTimer,
  type TimerHandler,
} from "../responses/timers.ts";
import { addActivity } from "./activity-log.ts";
import { cancellationReason } from "./cancellation-state.ts";
import {
  countUnheardDevices,
  findProviderProblems,
  findUnheardDevices,
  hasUnheardDevices,
  remoteProviderOf,
  type UnheardDevices,
} from "./delivery-planner.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";
import { reopenPipeline } from "./retry.ts";
import { notificationDeadline } from "./stages/accept.ts";

/** `run` carries a message out. */
export type CatchUpDeps = Pick<
  PipelineStageDeps,
  "store" | "clock" | "by" | "endpointId" | "laneOf" | "providers" | "activations"
> & { run(notificationId: string): void };

/** Ms from the end of an attempt to the next, to phones that only showed the text; the last value repeats. */
const TEXT_ONLY_AFTER_MS = [1_000, 10_000, 30_000, 60_000, 120_000, 300_000];
/** The same for devices that did not answer. */
const SILENT_AFTER_MS = [30_000, 60_000, 120_000, 300_000, 600_000, 1_200_000, 1_800_000, 3_600_000];
/** Interval at which devices are checked for signs of life. */
const POLL_MS = 30_000;
/** A message that is still being sent is checked again after this time. */
const STILL_SENDING_MS = 5_000;
/** An emergency without expiry that no user ends is sent again for this time after the send. */
const MAX_AGE_MS = { emergency: 24 * 3_600_000, drill: 3_600_000 } as const;
/** Value of `initiationSourceType` of a message that is carried out for the cloud. */
const CLOUD = "cloud";

/** Selects the keys of messages that devices which have not heard them will get again. */
export const CATCHING_UP_SQL = "SELECT notification FROM notification_timers WHERE kind = 'catch-up'";

/** Whether a message is sent again to devices that have not heard it. */
export function catchesUp({
  priorityLevel,
  notificationSource,
  initiationSourceType,
}: Pick<NotificationRow, "priorityLevel" | "notificationSource" | "initiationSourceType">): boolean {
  return priorityLevel === 0 && notificationSource !== "bell-schedule" && initiationSourceType !== LIVE_PAGE;
}

/**
 * Schedules that an emergency is sent again to the devices that have not heard it, in the transaction that settles it. A
 * live page cannot be repeated: its audio was a voice at that time; a late bell tells the wrong time. @source docs/decisions/0436-emergency-catch-up.md
 */
export function scheduleCatchUp(tx: Transaction, row: NotificationRow, now: number): void {
  if (!catchesUp(row)) return;
  if (!hasUnheardDevices(tx, row)) {
    tx.run("DELETE FROM notification_timers WHERE notification = ? AND kind = 'catch-up'", row.pk);
    return;
  }
  const isScheduled = "SELECT 1 FROM notification_timers WHERE notification = ? AND kind = 'catch-up'";
  if (stopReason(tx, row, now) !== null || tx.one(isScheduled, row.pk) !== null) return;
  scheduleTimer(tx, row, { kind: "catch-up", ref: "1", at: now + delayOf(TEXT_ONLY_AFTER_MS, 1) });
}

/** Internal keys of those messages that will be sent again automatically. */
export function findCatchingUp(
  reader: StoreReader,
  rows: readonly Pick<NotificationRow, "pk" | "priorityLevel">[],
): ReadonlySet<number> {
  const emergencies = rows.filter(({ priorityLevel }) => priorityLevel === 0);
  if (emergencies.length === 0) return new Set();
  const found = reader.all<{ notification: number }>(
    `SELECT notification FROM notification_timers
     WHERE kind = 'catch-up' AND notification IN (SELECT value FROM json_each(?))`,
    JSON.stringify(emergencies.map(({ pk }) => pk)),
  );
  return new Set(found.map(({ notification }) => notification));
}

/**
 * Sends an emergency again to the devices that have not heard it: soon to those known to answer, and with
 * backoff to the others. Ends with the all-clear, the end of the message or of its incident, or once all have heard it.
 */
export function createCatchUpHandler(deps: CatchUpDeps): TimerHandler {
  const { store, clock, laneOf } = deps;
  return async (due) => {
    const row = store.get(notifications, due.notificationId);
    if (!row) return;
    const unheard = await findUnheard(row, deps);
    const lane = laneOf(row.priorityLevel ?? 5);
    if (await store.write((tx) => catchUp(tx, due, unheard, clock.now(), deps), lane)) deps.run(row.id);
  };
}

async function findUnheard(row: NotificationRow, deps: CatchUpDeps): Promise<UnheardDevices> {
  const { store, providers, clock } = deps;
  const given = {
    ours: endpointPkOf(store, deps.endpointId()),
    troubles: findProviderProblems(store, providers, row),
    elsewhere: await deps.activations.activatedElsewhere(findUnheardDevices(store, row, clock.now() + 1)),
    carrier: remoteProviderOf(deps),
  };
  return countUnheardDevices(store, row, given);
}

/** True when the message goes through the pipeline again. */
function catchUp(
  tx: Transaction,
  due: NotificationTimer,
  { count, withoutAudio, back }: UnheardDevices,
  now: number,
  deps: CatchUpDeps,
): boolean {
  const row = tx.get(notifications, due.notificationId);
  if (!row) return false;
  const log = (message: Sentence): void => {
    const values = { notificationId: row.id, type: "info" as const, endpointId: deps.endpointId() };
    addActivity(tx, { ...values, details: { message, devices: count } }, deps.by);
  };
  const attempt = Number(due.ref);
  const reason = stopReason(tx, row, now);
  if (reason !== null || (row.stage === "settled" && !hasUnheardDevices(tx, row))) {
    const isWorthLogging = reason !== null && attempt > 1 && count > 0;
    if (completeTimer(tx, due) && isWorthLogging) log(sentence("activity.catch-up-stopped", { count, reason }));
    return false;
  }
  const delayMs = delayOf(withoutAudio > 0 ? TEXT_ONLY_AFTER_MS : SILENT_AFTER_MS, attempt);
  const restMs = (row.settledAt ?? now) + delayMs - now;
  if (row.stage !== "settled" || count === 0 || (back === 0 && restMs > 0)) {
    const waitMs = restMs > 0 ? Math.min(POLL_MS, restMs) : POLL_MS;
    postponeTimer(tx, due, now + (row.stage === "settled" ? waitMs : STILL_SENDING_MS));
    return false;
  }
  if (!completeTimer(tx, due)) return false;
  log(sentence("activity.catch-up", { count }));
  reopenPipeline(tx, row, { goesAgainTo: "unheard", repeatNumber: row.repeatNumber }, now, deps.by);
  scheduleTimer(tx, row, { kind: "catch-up", ref: String(attempt + 1), at: now + STILL_SENDING_MS });
  return true;
}

function delayOf(delaysMs: readonly number[], attempt: number): number {
  return delaysMs[Math.min(attempt, delaysMs.length) - 1] ?? 0;
}

/** Why a message is not sent again automatically, as text; null while it is. */
function stopReason(reader: StoreReader, row: NotificationRow, now: number): Sentence | null {
  const stopped = cancellationReason(row, now);
  if (stopped !== null) return sentence(stopped === "aborted" ? "delivery.aborted" : "delivery.expired");
  if (row.expiresAt === null && now >= lastAttemptAt(row)) return sentence("activity.time-over");
  if (row.alertTone?.startsWith("all-clear")) {
    const sql = `SELECT 1 FROM notifications f WHERE f.pk > ? AND f.priority_level = 0 AND ${WAS_SENT_SQL}
      AND f.drill = ? AND coalesce(f.alert_tone, '') NOT LIKE 'all-clear%' LIMIT 1`;
    return reader.one(sql, row.pk, Number(row.drill)) ? sentence("activity.newer-emergency") : null;
  }
  return reader.one(ENDED_SQL, row.pk) ? sentence("activity.emergency-over") : null;
}

/** Appliances do not carry out messages of the cloud after their deadline. */
function lastAttemptAt(row: NotificationRow): number {
  if (row.initiationSourceType === CLOUD) return notificationDeadline(row);
  return row.createdAt + MAX_AGE_MS[row.drill ? "drill" : "emergency"];
}

const WAS_SENT_SQL = "f.draft = 0 AND f.aborted_at IS NULL AND coalesce(f.approval, 'approved') = 'approved'";

/**
 * The incident of a message has ended, or its all-clear was sent. The copy of a message of the cloud knows neither: any
 * later all-clear of the cloud ends it.
 */
const ENDED_SQL = `SELECT 1 FROM notifications n LEFT JOIN incidents i ON i.pk = n.incident_pk
  WHERE n.pk = ? AND (i.ended_at IS NOT NULL OR EXISTS (SELECT 1 FROM notifications f
    WHERE f.alert_tone LIKE 'all-clear%' AND f.pk > n.pk AND ${WAS_SENT_SQL}
      AND (f.follow_up_for_notification_pk = n.pk OR f.incident_pk = n.incident_pk
        OR (n.initiation_source_type = '${CLOUD}' AND f.initiation_source_type = '${CLOUD}'))))`;
