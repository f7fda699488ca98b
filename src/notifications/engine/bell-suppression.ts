import type { StoreReader } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";

/** Maximum time for which an emergency suppresses bells. @source docs/decisions/0015-bell-engine.md */
const MAX_SUPPRESSION_MS = 60 * 60_000;

/**
 * Devices of recent emergencies that are not over: aborted, expired, or followed by an all-clear. A drill suppresses
 * bells as the real emergency would.
 */
const DEVICES = `SELECT DISTINCT l.device_pk AS device FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk
  LEFT JOIN incidents i ON i.pk = n.incident_pk
  WHERE n.priority_level = 0 AND n.created_at > ? AND n.notification_source <> 'bell-schedule' AND n.draft = 0
    AND n.aborted_at IS NULL AND (n.expires_at IS NULL OR n.expires_at > ?) AND i.ended_at IS NULL
    AND coalesce(n.alert_tone, '') NOT LIKE 'all-clear%' AND l.device_pk IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM notifications f WHERE f.alert_tone LIKE 'all-clear%' AND f.created_at >= n.created_at
      AND (f.follow_up_for_notification_pk = n.pk OR f.incident_pk = n.incident_pk))`;

/**
 * Internal keys of the devices at which an emergency suppresses a bell; empty for any other message, or an urgent one.
 */
export function suppressedDevices(
  { notificationSource, priorityLevel }: Pick<NotificationRow, "notificationSource" | "priorityLevel">,
  reader: StoreReader,
  now: number,
): ReadonlySet<number> {
  if (notificationSource !== "bell-schedule" || priorityLevel === 0) return new Set();
  return new Set(reader.all<{ device: number }>(DEVICES, now - MAX_SUPPRESSION_MS, now).map(({ device }) => device));
}
