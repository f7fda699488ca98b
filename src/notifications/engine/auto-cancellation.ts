import messageTemplates from "../../resources/messages/message-templates.ts";
import { UNFINISHED_SQL } from "../../resources/notifications/pipeline-stages.ts";
import type { StoreReader } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { CATCHING_UP_SQL } from "./catch-up.ts";

/**
 * Ids of the messages that a new message's template cancels, oldest first: those that are in progress, will be
 * sent again or have not expired, in the domain of the new one, all of them or those of certain templates. `together` were sent with it and
 * stay.
 *
 * A drill cancels only drills and a live message only live ones; a held ring neither cancels nor is cancelled; only an
 * emergency or an all-clear cancels an emergency. @source docs/decisions/0042-api-contract.md;
 * docs/decisions/0022-priorities.md
 */
export function findCancelledByTemplate(
  row: NotificationRow,
  together: readonly string[],
  reader: StoreReader,
  now: number,
): string[] {
  if (row.draft || row.heldUntil !== null || row.messageTemplateId === null) return [];
  const template = reader.get(messageTemplates, row.messageTemplateId);
  const kind = template?.cancelNotificationsType ?? "none";
  if (!template || kind === "none") return [];
  const ofTemplates =
    kind === "all"
      ? "1"
      : `n.message_template_pk IN (SELECT target FROM message_templates__message_template_cancellation_ids
           WHERE owner = ${template.pk})`;
  const found = reader.all<{ id: string }>(
    `SELECT n.id FROM notifications n CROSS JOIN notifications own ON own.id = ?
     WHERE n.pk IN (SELECT pk FROM notifications WHERE ${UNFINISHED_SQL} UNION ALL
         SELECT pk FROM notifications WHERE expires_at > ? UNION ALL ${CATCHING_UP_SQL})
       AND n.draft = 0 AND n.aborted_at IS NULL AND n.pk < own.pk
       AND n.domain_pk IS own.domain_pk AND n.drill = own.drill AND (n.held_until IS NULL OR n.held_until <= ?)
       AND (n.priority_level IS NOT 0 OR own.priority_level IS 0 OR own.alert_tone LIKE 'all-clear%') AND ${ofTemplates}
     ORDER BY n.pk`,
    ...[row.id, now, now],
  );
  return found.map(({ id }) => id).filter((id) => !together.includes(id));
}
