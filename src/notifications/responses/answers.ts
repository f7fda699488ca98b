import { CallerError, invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import { type ActivityRow, addActivity } from "../engine/activity-log.ts";
import { incrementCounter } from "../engine/counters.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import { assignDynamicReply } from "./dynamic-replies.ts";
import { type ResponseContext, responseContextOfRecipient, responseContextOfUser } from "./response-context.ts";
import { updateTracking } from "./tracking.ts";

export type RecordAnswerDeps = Pick<PipelineStageDeps, "store" | "clock">;

/**
 * Records a recipient's answer: the last one counts, the activity log keeps all; the reply and what follows from the
 * answer are decided in the same transaction. An answer marks the message as read. Throws CallerError: not-found for a
 * non-recipient, `confirmationOption` for an unknown answer, conflict once answers are no longer accepted.
 */
export function recordAnswer(
  notificationId: string,
  userId: string,
  option: string,
  by: ActorContext,
  deps: RecordAnswerDeps,
): Promise<ActivityRow> {
  return deps.store.write(
    (tx) => recordAnswerIn(tx, responseContextOfUser(tx, notificationId, userId), option, by, deps.clock.now()).entry,
  );
}

/**
 * Records an answer that came in through a channel, which names the recipient by its row id; returns the reply, null
 * for none. Throws as `recordAnswer`.
 */
export function recordChannelAnswer(
  recipientId: string,
  option: string,
  by: ActorContext,
  deps: RecordAnswerDeps,
): Promise<string | null> {
  return deps.store.write(
    (tx) => recordAnswerIn(tx, responseContextOfRecipient(tx, recipientId), option, by, deps.clock.now()).reply,
  );
}

function recordAnswerIn(
  tx: Transaction,
  { recipient, message, question: asked }: ResponseContext,
  option: string,
  by: ActorContext,
  now: number,
): { entry: ActivityRow; reply: string | null } {
  const question = requireAnswerable(message, asked, option, now);
  const { userId, confirmationResponse: before } = recipient;
  const reply = assignDynamicReply(tx, message, question, recipient, option);
  if (before !== null) incrementCounter(tx, message.pk, `answer:${before}`, -1);
  incrementCounter(tx, message.pk, `answer:${option}`, 1);
  if (!recipient.read) incrementCounter(tx, message.pk, "readers", 1);
  tx.run(
    `UPDATE notification_recipients SET confirmation_response = ?, confirmation_response_timestamp = ?, dynamic_reply = ?,
       read_timestamp = CASE WHEN read = 1 THEN read_timestamp ELSE coalesce(read_timestamp, ?) END, read = 1, updated_at = ?
     WHERE pk = ?`,
    ...[option, now, reply, now, now, recipient.pk],
  );
  updateTracking(tx, message, question, { userId, option, now, by });
  const details = { confirmationOption: option, ...(reply !== null && { dynamicReply: reply }) };
  const entry = {
    notificationId: message.id,
    userId,
    type: "confirmation",
    confirmationOption: option,
    details,
  } as const;
  return { entry: addActivity(tx, entry, by), reply };
}

function requireAnswerable(
  { createdAt, expiresAt, abortedAt }: ResponseContext["message"],
  question: ResponseContext["question"],
  option: string,
  now: number,
): NonNullable<ResponseContext["question"]> {
  if (!question) throw invalidValue("confirmationOption", sentence("field.the-message-does-not-ask-for-an-answer"));
  if (!question.options.includes(option)) {
    throw invalidValue("confirmationOption", sentence("field.must-be-one-of-the-request-s-options"));
  }
  const period = question.expirationPeriod;
  const until = Math.min(
    abortedAt ?? Number.POSITIVE_INFINITY,
    expiresAt ?? Number.POSITIVE_INFINITY,
    period === null ? Number.POSITIVE_INFINITY : createdAt + period * 1_000,
  );
  if (now >= until) throw new CallerError("conflict", sentence("error.answers-to-this-message-are-no-longer-accepted"));
  return question;
}

/** Records that a recipient has read a message, or has not. Throws not-found for a non-recipient. */
export function recordRead(
  notificationId: string,
  userId: string,
  read: boolean,
  by: ActorContext,
  deps: RecordAnswerDeps,
): Promise<ActivityRow> {
  return deps.store.write((tx) => {
    const { message, recipient } = responseContextOfUser(tx, notificationId, userId);
    if (recipient.read !== read) markRead(tx, message.pk, recipient.pk, read, deps.clock.now());
    const readStatus = read ? "read" : "unread";
    const values = {
      notificationId: message.id,
      userId: recipient.userId,
      readStatus,
      details: { readStatus },
    } as const;
    return addActivity(tx, { ...values, type: "set-read-status" }, by);
  });
}

function markRead(tx: Transaction, messagePk: number, recipientPk: number, read: boolean, now: number): void {
  tx.run(
    "UPDATE notification_recipients SET read = ?, read_timestamp = coalesce(read_timestamp, ?), updated_at = ? WHERE pk = ?",
    ...[read ? 1 : 0, read ? now : null, now, recipientPk],
  );
  incrementCounter(tx, messagePk, "readers", read ? 1 : -1);
}
