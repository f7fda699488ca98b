import { floorPlansOf } from "../places/floor-plan.ts";
import type scenarioNotifications from "../resources/scenarios/scenario-notifications.ts";
import type { ResourceHooks, SqlValue, StoreReader } from "../store/store.ts";

/** Serializes the notifications of started scenarios, in one query per page. */
export const scenarioNotificationHooks: ResourceHooks<typeof scenarioNotifications> = {
  present(rows, { reader, query }) {
    const plans = query.includeFloorPlanWithBoundary === true ? floorPlansOf(rows, reader) : null;
    const sent = sentNotifications(
      rows.map(({ pk }) => pk),
      reader,
    );
    return rows.map(({ pk, id }, at) => ({
      ...(plans ? { floorPlanImageWithBoundaryFile: plans[at] } : {}),
      events: (sent.get(pk) ?? []).map((notification) => ({
        id: notification.id,
        createdAt: notification.createdAt,
        scenarioNotificationId: id,
        notificationId: notification.id,
        notification,
      })),
    }));
  },
};

function sentNotifications(pks: readonly number[], reader: StoreReader): Map<number, Record<string, unknown>[]> {
  const lines = reader.all<Record<string, SqlValue>>(
    `SELECT n.scenario_notification_pk AS owner, n.id, n.subject, n.body, t.id AS messageTemplateId, n.priority, n.drill,
       n.notification_source AS notificationSource, n.created_at AS createdAt, n.expires_at AS expiresAt,
       n.aborted_at AS abortedAt
     FROM notifications n LEFT JOIN message_templates t ON t.pk = n.message_template_pk
     WHERE n.scenario_notification_pk IN (SELECT value FROM json_each(?)) ORDER BY n.pk`,
    JSON.stringify(pks),
  );
  const found = new Map<number, Record<string, unknown>[]>();
  for (const { owner, drill, createdAt, expiresAt, abortedAt, ...line } of lines) {
    const list = found.get(owner as number) ?? [];
    found.set(owner as number, list);
    const times = { createdAt: toIsoTime(createdAt), expiresAt: toIsoTime(expiresAt), abortedAt: toIsoTime(abortedAt) };
    list.push({ ...line, drill: drill === 1, ...times });
  }
  return found;
}

function toIsoTime(at: SqlValue | undefined): string | null {
  return typeof at === "number" ? new Date(at).toISOString() : null;
}
