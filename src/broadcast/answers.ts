import { CallerError, invalidValue, notFound } from "../base/errors.ts";
import notificationRecipients from "../resources/broadcasts/notification-recipients.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Transaction } from "../store/store.ts";
import { type ActivityRow, addActivity } from "./activities.ts";
import type { NotificationRow } from "./compose.ts";
import { addToCount } from "./counts.ts";
import { replyTo } from "./dynamic-replies.ts";
import type { StageNeeds } from "./stage.ts";
import { trackByAnswer } from "./tracking.ts";

type Recipient = RowOf<typeof notificationRecipients>;
type Request = RowOf<typeof confirmationRequests>;

/** What taking an answer needs. */
export type AnswerNeeds = Pick<StageNeeds, "store" | "clock">;

/**
 * A recipient's answer: the last one stands, the diary keeps them all; the reply to it and what follows from it are
 * decided with it. own choice: whoever answers has read the message.
 * Throws CallerError: not-found for whoever is no recipient, `confirmationOption` for what is none of the answers,
 * conflict once answers are taken no more.
 */
export function recordAnswer(
  notificationId: string,
  userId: string,
  option: string,
  by: By,
  needs: AnswerNeeds,
): Promise<ActivityRow> {
  return needs.store.write((tx) => {
    const recipient = tx.find(notificationRecipients, { notificationId, userId }, 1)[0];
    return answer(tx, recipient, option, by, needs.clock.now());
  });
}

/**
 * An answer that came in through a channel, which names the recipient by the id of its row; gives what the recipient is
 * told, null for nothing. Throws as `recordAnswer`.
 */
export function recordChannelAnswer(
  recipientId: string,
  option: string,
  by: By,
  needs: AnswerNeeds,
): Promise<string | null> {
  return needs.store.write((tx) => {
    answer(tx, tx.get(notificationRecipients, recipientId) ?? undefined, option, by, needs.clock.now());
    return tx.get(notificationRecipients, recipientId)?.dynamicReply ?? null;
  });
}

function answer(tx: Transaction, recipient: Recipient | undefined, option: string, by: By, now: number): ActivityRow {
  const row = recipient && tx.get(notifications, recipient.notificationId);
  if (!recipient || !row) throw notFound();
  const request = requireAnswerable(tx, row, option, now);
  const { pk, userId, confirmationResponse: before } = recipient;
  const reply = replyTo(tx, row, recipient, option);
  if (before !== null) addToCount(tx, row.pk, `answer:${before}`, -1);
  addToCount(tx, row.pk, `answer:${option}`, 1);
  tx.run(
    `UPDATE notification_recipients SET confirmation_response = ?, confirmation_response_timestamp = ?, dynamic_reply = ?,
       updated_at = ? WHERE pk = ?`,
    option,
    now,
    reply,
    now,
    pk,
  );
  markRead(tx, row, recipient, true, now);
  trackByAnswer(tx, row, request, { userId, option, now, by });
  const details = { confirmationOption: option, ...(reply !== null && { dynamicReply: reply }) };
  return addActivity(
    tx,
    { notificationId: row.id, userId, type: "confirmation", confirmationOption: option, details },
    by,
  );
}

function requireAnswerable(tx: Transaction, row: NotificationRow, option: string, now: number): Request {
  const request = row.confirmationRequestId === null ? null : tx.get(confirmationRequests, row.confirmationRequestId);
  if (!request) throw invalidValue("confirmationOption", "The message asks for no answer.");
  if (!request.options.includes(option)) {
    throw invalidValue("confirmationOption", "It must be one of the request's options.");
  }
  const period = request.expirationPeriod;
  const until = Math.min(
    row.abortedAt ?? Number.POSITIVE_INFINITY,
    row.expiresAt ?? Number.POSITIVE_INFINITY,
    period === null ? Number.POSITIVE_INFINITY : row.createdAt + period * 1_000,
  );
  if (now >= until) throw new CallerError("conflict", "Answers to this message are taken no more.");
  return request;
}

/** A recipient has read a message, or takes that back. Throws not-found for whoever is no recipient. */
export function recordRead(
  notificationId: string,
  userId: string,
  read: boolean,
  by: By,
  needs: AnswerNeeds,
): Promise<ActivityRow> {
  return needs.store.write((tx) => {
    const row = tx.get(notifications, notificationId);
    const recipient = tx.find(notificationRecipients, { notificationId, userId }, 1)[0];
    if (!row || !recipient) throw notFound();
    markRead(tx, row, recipient, read, needs.clock.now());
    const readStatus = read ? "read" : "unread";
    return addActivity(
      tx,
      {
        notificationId: row.id,
        userId: recipient.userId,
        type: "set-read-status",
        readStatus,
        details: { readStatus },
      },
      by,
    );
  });
}

function markRead(tx: Transaction, row: NotificationRow, recipient: Recipient, read: boolean, now: number): void {
  if (recipient.read === read) return;
  tx.run(
    "UPDATE notification_recipients SET read = ?, read_timestamp = coalesce(read_timestamp, ?), updated_at = ? WHERE pk = ?",
    read ? 1 : 0,
    read ? now : null,
    now,
    recipient.pk,
  );
  addToCount(tx, row.pk, "readers", read ? 1 : -1);
}
