import { ConflictError, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext, StoreReader, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { addActivity } from "./activity-log.ts";
import { cancellationReason } from "./cancellation-state.ts";
import { clearLevelCounts } from "./counters.ts";
import { MISSED_AUDIO_SQL, UNREACHED_LEVELS_SQL } from "./delivery-state.ts";
import { advanceStage, type PipelineStageDeps } from "./pipeline-stage.ts";
import { notificationDeadline } from "./stages/accept.ts";

/**
 * Takes a settled message through the stages from `prepare` on again, to the devices it has not reached, or not with its audio: same row, same
 * ledger, a new start time, in a new multicast group, since phones may still listen to the old one. Resolves after
 * COMMIT. Throws ConflictError for a preview, and for a message that is in progress, aborted, expired, or reached
 * everything. @source docs/decisions/0008-notifications-and-templates.md, Sending
 */
export async function retryNotification(
  notificationId: string,
  by: ActorContext,
  deps: PipelineStageDeps,
): Promise<NotificationRow> {
  const { store, clock } = deps;
  const known = store.get(notifications, notificationId, by.scope);
  if (!known) throw notFound();
  return store.write(
    (tx) => {
      const row = tx.get(notifications, notificationId, by.scope);
      if (!row) throw notFound();
      requireRetryable(row, clock.now());
      const devices = countUnreached(tx, row.pk);
      if (devices === 0)
        throw new ConflictError(sentence("error.every-device-was-reached-there-is-nothing-to-send-again"));
      const after = reopenPipeline(tx, row, { goesAgainTo: "missed", repeatNumber: row.repeatNumber }, clock.now(), by);
      const details = {
        message: sentence("activity.retried", { count: devices }),
        devices,
      };
      const entry = { notificationId, type: "info" as const, userId: by.actor.userId, endpointId: deps.endpointId() };
      addActivity(tx, { ...entry, details }, by);
      return after;
    },
    deps.laneOf(known.priorityLevel ?? 5),
  );
}

/** Reopens the stages of a settled message from `prepare` on, for a part of its recipients. */
export function reopenPipeline(
  tx: Transaction,
  row: NotificationRow,
  again: Pick<NotificationRow, "goesAgainTo" | "repeatNumber">,
  now: number,
  by: ActorContext,
): NotificationRow {
  // Later than the end of any row, so that the rows of this attempt can be told from earlier ones.
  const retriedAt = Math.max(now, (row.settledAt ?? 0) + 1);
  const notAfter = notificationDeadline({ ...row, createdAt: retriedAt, initiationSourceType: null });
  const reset = { t0: null, streamEndedAt: null, settledAt: null, audioGroup: null, audioPort: null };
  const after = tx.update(notifications, row.id, {}, by, {
    ...reset,
    ...again,
    retriedAt,
    stageAt: retriedAt,
    notAfter,
  });
  clearLevelCounts(tx, row.pk);
  advanceStage(tx, row.id, "prepare");
  return after;
}

function requireRetryable(row: NotificationRow, now: number): void {
  const refusal = refusalReason(row, now);
  if (refusal !== null) throw new ConflictError(refusal);
}

function refusalReason(row: NotificationRow, now: number): string | null {
  if (row.draft) return sentence("error.a-preview-was-not-sent-and-cannot-be-sent-again");
  const stopped = cancellationReason(row, now);
  if (stopped === "aborted") return sentence("error.the-message-was-ended-by-a-user-send-a-new-one-instead");
  if (stopped === "expired") return sentence("error.the-message-has-expired-send-a-new-one-instead");
  return row.stage === "settled"
    ? null
    : sentence("error.the-message-is-still-being-sent-failed-deliveries-are-retried-automatically");
}

/** Existing devices that a settled message has not reached, or not with its audio. */
function countUnreached(reader: StoreReader, notificationPk: number): number {
  const found = reader.one<{ n: number }>(
    `SELECT count(*) AS n FROM deliveries WHERE notification_pk = ? AND (level IN ${UNREACHED_LEVELS_SQL} OR ${MISSED_AUDIO_SQL})
       AND (device_pk IS NOT NULL OR user_device_pk IS NOT NULL OR collaboration_group_pk IS NOT NULL)`,
    notificationPk,
  );
  return found?.n ?? 0;
}
