import type { SentenceReference } from "../../lib/sentences/reference.ts";
import type { SentenceReader } from "../../lib/sentences/registry.ts";
import type deliveries from "../../resources/notifications/deliveries.ts";
import { deviceOutcome } from "../../resources/notifications/device-outcomes.ts";
import type notificationActivities from "../../resources/notifications/notification-activities.ts";
import type notificationRecipients from "../../resources/notifications/notification-recipients.ts";
import type { ResourceHooks, StoreReader } from "../../store/store.ts";

/**
 * Hooks of recipients: show whether they still exist and, on request, their devices' delivery states; one query per
 * page.
 */
export const recipientHooks: ResourceHooks<typeof notificationRecipients> = {
  present(rows, { reader, query }) {
    const pks = rows.map(({ pk }) => pk);
    const summaries = query.includeDevicesSummary === true ? deviceSummaries(reader, pks) : null;
    return rows.map(({ pk, userId }) => ({
      defunct: userId === null,
      ...(summaries ? { devicesSummary: summaries.get(pk) ?? {} } : {}),
    }));
  },
};

/** Numbers of deliveries by level, by the recipients' internal keys. */
function deviceSummaries(reader: StoreReader, recipientPks: readonly number[]): Map<number, Record<string, number>> {
  const lines = reader.all<{ pk: number; level: string; n: number }>(
    `SELECT r.pk, d.level, count(*) AS n FROM notification_recipients r
     JOIN user_devices u ON u.user_pk = r.user_pk
     JOIN deliveries d ON d.notification_pk = r.notification_pk AND d.user_device_pk = u.pk
     WHERE r.pk IN (SELECT value FROM json_each(?)) GROUP BY r.pk, d.level`,
    JSON.stringify(recipientPks),
  );
  const summaries = new Map<number, Record<string, number>>();
  for (const { pk, level, n } of lines) summaries.set(pk, { ...summaries.get(pk), [level]: n });
  return summaries;
}

/** Hooks of deliveries: show their outcome and the current attributes of the devices; one query per page. */
export const deliveryHooks: ResourceHooks<typeof deliveries> = {
  present(rows, { reader, sentences }) {
    const ids = rows.map(({ deviceId }) => deviceId).filter((id) => id !== null);
    const lines = reader.all<{ id: string; attributes: string | null }>(
      "SELECT id, attributes FROM devices WHERE id IN (SELECT value FROM json_each(?))",
      JSON.stringify(ids),
    );
    const attributes = new Map(lines.map((line) => [line.id, line.attributes]));
    return rows.map(({ deviceId, level, textOnly, reason, retryAt, endedAt }) => ({
      attributes: JSON.parse(attributes.get(deviceId ?? "") ?? "{}"),
      outcome: deviceOutcome({ level, textOnly }),
      nextAttemptAt: retryAt === null || endedAt !== null ? null : new Date(retryAt).toISOString(),
      reasonSentence: reason && sentences.read(reason),
    }));
  },
};

/** Hooks of activity log entries: show the name of the observing appliance on request; one query per page. */
export const activityHooks: ResourceHooks<typeof notificationActivities> = {
  present(rows, { reader, query, sentences }) {
    const presented = rows.map(({ details }) => ({ detailsSentence: sentenceOfDetails(details, sentences) }));
    if (query.includeEndpointName !== true) return presented;
    const lines = reader.all<{ id: string; name: string | null }>(
      "SELECT id, name FROM endpoints WHERE id IN (SELECT value FROM json_each(?))",
      JSON.stringify([...new Set(rows.map(({ endpointId }) => endpointId))]),
    );
    const names = new Map(lines.map(({ id, name }) => [id, name]));
    return rows.map(({ endpointId }, at) => ({ ...presented[at], endpointName: names.get(endpointId ?? "") ?? null }));
  },
};

function sentenceOfDetails(details: unknown, sentences: SentenceReader): SentenceReference | null {
  const { message, reason } = (details ?? {}) as { message?: unknown; reason?: unknown };
  const text = message ?? reason;
  return typeof text === "string" ? sentences.read(text) : null;
}
