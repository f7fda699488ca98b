import { BugError } from "../../lib/errors.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { addActivity } from "../engine/activity-log.ts";
import { cancellationReason } from "../engine/cancellation-state.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import { reopenPipeline } from "../engine/retry.ts";
import { type ConfirmationRequestRow, confirmationRequestOf } from "./repeat-schedule.ts";
import { completeTimer, type NotificationTimer, postponeTimer, scheduleTimer, type TimerHandler } from "./timers.ts";

/** `take` carries a message out. */
export type RepeatDeps = Pick<PipelineStageDeps, "store" | "clock" | "by" | "endpointId" | "laneOf"> & {
  run(notificationId: string): void;
};

/** A message that is still being sent is not repeated; it is checked again after this time. */
const STILL_SENDING_MS = 5_000;

/**
 * Sends a message again to the devices of those who have not answered, by opening their delivery rows, until everyone
 * has answered, answers are no longer accepted, the message ended, or the request's limit is reached. Repeats that were
 * due while the appliance was down are sent once, the next one an interval later; on-premises devices, which answer
 * nothing, get the message once.
 */
export function createRepeatHandler(deps: RepeatDeps): TimerHandler {
  const { store, clock, laneOf } = deps;
  return async (due) => {
    const lane = laneOf(store.get(notifications, due.notificationId)?.priorityLevel ?? 5);
    const goes = await store.write((tx) => repeat(tx, due, clock.now(), deps), lane);
    if (goes) deps.run(due.notificationId);
  };
}

/** True when the message goes through the pipeline again. */
function repeat(tx: Transaction, due: NotificationTimer, now: number, deps: RepeatDeps): boolean {
  const row = tx.get(notifications, due.notificationId);
  if (!row) throw new BugError("The message to repeat does not exist.", { notificationId: due.notificationId });
  const request = confirmationRequestOf(tx, row);
  const people = countUnanswered(tx, row.pk);
  const reason = stopReason(row, request, people, now);
  const log = (message: Sentence, more: object = {}): void => {
    const values = { notificationId: row.id, type: "info" as const, endpointId: deps.endpointId() };
    addActivity(tx, { ...values, details: { message, ...more } }, deps.by);
  };
  if (reason !== null || !request) {
    if (completeTimer(tx, due)) log(sentence("delivery.not-sent-again", { reason: reason ?? "" }));
    return false;
  }
  if (row.stage !== "settled") {
    postponeTimer(tx, due, now + STILL_SENDING_MS);
    return false;
  }
  if (!completeTimer(tx, due)) return false;
  const [turn, limit] = [Number(due.ref), request.repeatLimit ?? 1];
  log(sentence("activity.repeated", { turn, limit, count: people }), { repeat: turn, people });
  reopenPipeline(tx, row, { goesAgainTo: "unanswered", repeatNumber: turn }, now, deps.by);
  const next = { kind: "repeat", ref: String(turn + 1), at: now + (request.repeatInterval ?? 0) * 1_000 } as const;
  if (turn < limit) scheduleTimer(tx, row, next);
  return true;
}

/** Why no repeat follows, as text; null while one does. */
function stopReason(
  row: NotificationRow,
  request: ConfirmationRequestRow | null,
  people: number,
  now: number,
): Sentence | null {
  if (!request || request.repeatInterval === null) return sentence("activity.no-repeat-interval");
  const stopped = cancellationReason(row, now);
  if (stopped !== null) return sentence(stopped === "aborted" ? "delivery.aborted" : "delivery.expired");
  const period = request.expirationPeriod;
  if (period !== null && now >= row.createdAt + period * 1_000) return sentence("activity.answers-closed");
  return people === 0 ? sentence("activity.everyone-answered") : null;
}

/** From the counters, so the cost is constant. */
function countUnanswered(tx: Transaction, notification: number): number {
  const counted = tx.one<{ n: number | null }>(
    `SELECT sum(CASE WHEN name = 'recipients' THEN n ELSE -n END) AS n FROM notification_counters
     WHERE notification = ? AND (name = 'recipients' OR name LIKE 'answer:%')`,
    notification,
  );
  return counted?.n ?? 0;
}
