import { ConflictError, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext, StoreReader, Sync, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { addActivity } from "../engine/activity-log.ts";
import { cancellationReason } from "../engine/cancellation-state.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import { notificationDeadline, startSending } from "../engine/stages/accept.ts";

export type ApprovalDeps = Pick<PipelineStageDeps, "store" | "clock" | "endpointId">;

/**
 * The messages that wait for approval together with this one: messages of one scenario are sent all, or none. Throws
 * not-found, and ConflictError for one that no longer waits.
 */
export function findAwaitingApproval(
  reader: StoreReader,
  notificationId: string,
  by: ActorContext,
  now: number,
): NotificationRow[] {
  const row = reader.get(notifications, notificationId, by.scope);
  if (!row) throw notFound();
  if (row.approval === null) throw new ConflictError(sentence("error.the-message-does-not-require-approval"));
  if (row.approval !== "waiting" || cancellationReason(row, now)) {
    throw new ConflictError(
      row.approval === "approved"
        ? sentence("error.the-message-was-decided-already-it-was-sent")
        : sentence("error.the-message-was-decided-already-it-was-not-sent"),
    );
  }
  const { scenarioNotificationId } = row;
  return scenarioNotificationId ? reader.find(notifications, { scenarioNotificationId, approval: "waiting" }) : [row];
}

/**
 * Approves messages as if they were sent now; resolves after COMMIT. Throws as `findAwaitingApproval`, and
 * ConflictError if the sender approves.
 */
export function approve(notificationId: string, by: ActorContext, deps: ApprovalDeps): Promise<NotificationRow[]> {
  return deps.store.write((tx) => {
    const now = deps.clock.now();
    const rows = findAwaitingApproval(tx, notificationId, by, now);
    if (rows.some(({ initiatorId }) => initiatorId === by.actor.userId)) {
      throw new ConflictError(sentence("error.the-message-must-be-approved-by-another-person-than-its-sender"));
    }
    return rows.map((row) => sendNow(tx, row, by, now, deps.endpointId())) as Sync<NotificationRow[]>;
  }, "emergency");
}

function sendNow(
  tx: Transaction,
  row: NotificationRow,
  by: ActorContext,
  now: number,
  endpointId: string,
): NotificationRow {
  const { expiration, initiationSourceType } = row;
  const priorityLevel = row.priorityLevel ?? 5;
  const expiresAt = expiration === null ? null : now + expiration * 1_000;
  const sent = tx.update(notifications, row.id, {}, by, {
    ...{ approval: "approved", approverId: by.actor.userId, stage: "resolve", stageAt: now, expiresAt },
    notAfter: notificationDeadline({ expiresAt, priorityLevel, createdAt: now, initiationSourceType }),
  });
  const details = { message: sentence("activity.approved", { name: by.actor.name }) };
  addActivity(tx, { notificationId: row.id, type: "info", userId: by.actor.userId, details }, by);
  startSending(tx, { ...sent, createdAt: now }, by, endpointId);
  return sent;
}
