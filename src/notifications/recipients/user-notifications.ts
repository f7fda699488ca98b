import { notFound } from "../../lib/errors.ts";
import { MAY_DECLINE_SQL } from "../../people/opt-outs.ts";
import type notifications from "../../resources/notifications/notifications.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { PresentContext, StoreReader } from "../../store/store.ts";

/** Throws not-found for a user who is not a recipient of the notification or has hidden it. */
export function requireRecipient(reader: StoreReader, userId: string, notificationId: string): void {
  const row = reader.one<{ hidden_at: number | null }>(
    `SELECT hidden_at FROM notification_recipients WHERE notification_pk = (SELECT pk FROM notifications WHERE id = ?)
     AND user_pk = (SELECT pk FROM users WHERE id = ?)`,
    ...[notificationId, userId],
  );
  if (!row || row.hidden_at !== null) throw notFound();
}

interface UserNotificationRow {
  notification_pk: number;
  confirmation_response: string | null;
  confirmation_response_timestamp: number | null;
  dynamic_reply: string | null;
  read_timestamp: number | null;
  may_decline: number;
  opt_out: string | null;
}

/**
 * Additional fields of notifications at `users/{userId}/notifications`: that user's answer, read status and opt-out, in
 * API form and in the rows' order; empty objects at other paths. One query per page.
 */
export function serializeForUser(
  rows: readonly RowOf<typeof notifications>[],
  { reader, params }: Pick<PresentContext, "reader" | "params">,
): Record<string, unknown>[] {
  if (params.userId === undefined) return rows.map(() => ({}));
  const lines = reader.all<UserNotificationRow & Record<string, string | number | null>>(
    `SELECT r.notification_pk, r.confirmation_response, r.confirmation_response_timestamp, r.dynamic_reply, r.read_timestamp,
       ${MAY_DECLINE_SQL} AS may_decline, o.id AS opt_out
     FROM notification_recipients r JOIN notifications n ON n.pk = r.notification_pk
       LEFT JOIN message_templates t ON t.pk = n.message_template_pk
       LEFT JOIN opt_outs o ON o.user_pk = r.user_pk AND o.message_template_pk = t.pk
     WHERE r.user_pk = (SELECT pk FROM users WHERE id = ?) AND r.notification_pk IN (SELECT value FROM json_each(?))`,
    params.userId,
    JSON.stringify(rows.map((row) => row.pk)),
  );
  const byNotification = new Map(lines.map((line) => [line.notification_pk, line]));
  return rows.map((row) => serializeUserFields(byNotification.get(row.pk)));
}

function serializeUserFields(line: UserNotificationRow | undefined): Record<string, unknown> {
  return {
    confirmationResponse: line?.confirmation_response ?? null,
    confirmationResponseTimestamp: isoTimeOrNull(line?.confirmation_response_timestamp),
    dynamicReplyText: line?.dynamic_reply ?? null,
    declinable: line?.may_decline === 1,
    optOutId: line?.opt_out ?? null,
    readTimestamp: isoTimeOrNull(line?.read_timestamp),
  };
}

/** Epoch ms in API form; null for null. */
export function isoTimeOrNull(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : new Date(at).toISOString();
}
