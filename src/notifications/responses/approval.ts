import { ConflictError, notFound } from "../../lib/errors.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext, StoreReader, Sync, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { addActivity } from "../engine/activity-log.ts";
import { cancellationReason } from "../engine/cancellation-state.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import { notificationDeadline, startSending } from "../engine/stages/accept.ts";

/** What approving needs. */
export type ApprovalDeps = Pick<PipelineStageDeps, "store" | "clock" | "endpointId">;

/**
 * The messages that wait for another person together with this one: those of one scenario go out all, or none. Throws
 * not-found, and ConflictError in words for one that waits no more.
 */
export function findAwaitingApproval(
  reader: StoreReader,
  notificationId: string,
  by: ActorContext,
  now: number,
): NotificationRow[] {
  const row = reader.get(notifications, notificationId, by.scope);
  if (!row) throw notFound();
  if (row.approval === null) throw new ConflictError("The message needs nobody's approval.");
  if (row.approval !== "waiting" || cancellationReason(row, now)) {
    throw new ConflictError(`It was decided already: the message is ${row.approval === "approved" ? "" : "not "}sent.`);
  }
  const { scenarioNotificationId } = row;
  return scenarioNotificationId ? reader.find(notifications, { scenarioNotificationId, approval: "waiting" }) : [row];
}

/**
 * Lets messages go out that waited, as if they were sent now; resolves after COMMIT. Throws as `waitingWith`, and
 * ConflictError for whoever sends it.
 */
export function approve(notificationId: string, by: ActorContext, needs: ApprovalDeps): Promise<NotificationRow[]> {
  return needs.store.write((tx) => {
    const now = needs.clock.now();
    const rows = findAwaitingApproval(tx, notificationId, by, now);
    if (rows.some(({ initiatorId }) => initiatorId === by.actor.userId)) {
      throw new ConflictError("It takes another person than the one who sends it.");
    }
    return rows.map((row) => sendNow(tx, row, by, now, needs.endpointId())) as Sync<NotificationRow[]>;
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
  const details = { message: `${by.actor.name} approved it.` };
  addActivity(tx, { notificationId: row.id, type: "info", userId: by.actor.userId, details }, by);
  startSending(tx, { ...sent, createdAt: now }, by, endpointId);
  return sent;
}
