import { notFound } from "../../lib/errors.ts";
import type { StoreReader } from "../../store/store.ts";

/** Recipient, message and question of an answer or a read status; one query, since thousands answer at once. */
export interface ResponseContext {
  recipient: {
    pk: number;
    userId: string | null;
    read: boolean;
    confirmationResponse: string | null;
    dynamicReply: string | null;
  };
  /** The message; times in epoch ms. */
  message: { pk: number; id: string; createdAt: number; expiresAt: number | null; abortedAt: number | null };
  /** Null for a message that does not ask for an answer. */
  question: {
    pk: number;
    options: string[];
    initiateTrackingOptions: boolean[] | null;
    expirationPeriod: number | null;
  } | null;
}

interface ResponseContextRow {
  pk: number;
  userId: string | null;
  isRead: number | null;
  answer: string | null;
  reply: string | null;
  messagePk: number;
  messageId: string;
  createdAt: number;
  expiresAt: number | null;
  abortedAt: number | null;
  questionPk: number | null;
  options: string | null;
  flags: string | null;
  period: number | null;
}

const RESPONSE_CONTEXT_SQL = `SELECT p.pk, u.id AS userId, p.read AS isRead, p.confirmation_response AS answer, p.dynamic_reply AS reply,
    n.pk AS messagePk, n.id AS messageId, n.created_at AS createdAt, n.expires_at AS expiresAt, n.aborted_at AS abortedAt,
    q.pk AS questionPk, q.options, q.initiate_tracking_options AS flags, q.expiration_period AS period
  FROM notification_recipients p JOIN notifications n ON n.pk = p.notification_pk
  LEFT JOIN confirmation_requests q ON q.pk = n.confirmation_request_pk LEFT JOIN users u ON u.pk = p.user_pk`;
const OF_USER = `${RESPONSE_CONTEXT_SQL} WHERE p.notification_pk = (SELECT pk FROM notifications WHERE id = ?)
  AND p.user_pk = (SELECT pk FROM users WHERE id = ?)`;
const OF_ROW = `${RESPONSE_CONTEXT_SQL} WHERE p.id = ?`;

/** The context of a user's answer. Throws not-found for a non-recipient. */
export function responseContextOfUser(reader: StoreReader, notificationId: string, userId: string): ResponseContext {
  return toResponseContext(
    reader.one<ResponseContextRow & Record<string, string | number | null>>(OF_USER, notificationId, userId),
  );
}

/** The context of the recipient with this row id. Throws not-found. */
export function responseContextOfRecipient(reader: StoreReader, recipientId: string): ResponseContext {
  return toResponseContext(
    reader.one<ResponseContextRow & Record<string, string | number | null>>(OF_ROW, recipientId),
  );
}

function toResponseContext(line: ResponseContextRow | null): ResponseContext {
  if (!line) throw notFound();
  const { pk, userId, isRead, answer: confirmationResponse, reply: dynamicReply } = line;
  const { messagePk, messageId: id, createdAt, expiresAt, abortedAt, questionPk, options, flags, period } = line;
  return {
    recipient: { pk, userId, read: isRead === 1, confirmationResponse, dynamicReply },
    message: { pk: messagePk, id, createdAt, expiresAt, abortedAt },
    question:
      questionPk === null
        ? null
        : {
            pk: questionPk,
            options: JSON.parse(options ?? "[]") as string[],
            initiateTrackingOptions: flags === null ? null : (JSON.parse(flags) as boolean[]),
            expirationPeriod: period,
          },
  };
}
