import { ConflictError, invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import incidents from "../../resources/incidents/incidents.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { ActorContext, StoreReader } from "../../store/store.ts";
import { type MessageInput, type NotificationRow, RECIPIENT_FIELDS } from "./message-builder.ts";

/** The fields that a message inherits from its context. */
export type InheritedContext = Partial<Pick<NotificationRow, "drill" | "incidentId" | "parentNotificationId">>;

/**
 * The context of a message: the message it follows up and the incident it is sent in. `incidentId` names an incident
 * whether or not the sender can see it. Throws CallerError for one that the sender cannot see, for a preview, and for a
 * drill/live mismatch; ConflictError for an incident that has ended. @source docs/decisions/0021-login-and-drills.md,
 * Drills
 */
export function inheritContext(
  message: MessageInput,
  reader: StoreReader,
  by: ActorContext,
  incidentId?: string,
): InheritedContext {
  const before = findFollowedNotification(message, reader, by);
  const given = message.values.incidentId ?? null;
  if (before) {
    if (given !== null && given !== before.incidentId) {
      throw invalidValue("incidentId", sentence("field.must-be-the-incident-of-the-message-that-this-one-follows-up"));
    }
    return { drill: before.drill, incidentId: before.incidentId, parentNotificationId: before.id };
  }
  const incident = incidentId ? reader.get(incidents, incidentId) : findIncident(given, reader, by);
  if (!incident) return {};
  requireSameDrill(message, incident, sentence("error.a-message-of-a-drill-incident-must-be-a-drill-and-one-of-a"));
  return { drill: incident.drill, incidentId: incident.id };
}

function findFollowedNotification(
  message: MessageInput,
  reader: StoreReader,
  by: ActorContext,
): NotificationRow | null {
  const id = message.values.followUpForNotificationId;
  if (!id) return null;
  const row = reader.get(notifications, id, by.scope);
  if (!row || row.draft) {
    throw invalidValue("followUpForNotificationId", sentence("field.the-notification-does-not-exist-or-was-not-sent"));
  }
  requireSameDrill(message, row, sentence("error.the-follow-up-of-a-drill-must-be-a-drill-and-that-of-a"));
  return row;
}

function findIncident(id: string | null, reader: StoreReader, by: ActorContext): RowOf<typeof incidents> | null {
  if (id === null) return null;
  const incident = reader.get(incidents, id, by.scope);
  if (!incident) throw invalidValue("incidentId", sentence("field.incident-not-found"));
  if (incident.endedAt !== null) throw new ConflictError(sentence("error.the-incident-has-ended"), "incidentId");
  return incident;
}

function requireSameDrill({ values, given }: MessageInput, { drill }: { drill: boolean }, text: string): void {
  if (given.has("drill") && values.drill !== drill) throw invalidValue("drill", text);
}

/** The same message addressed to all recipients of the messages `ids`, whether or not the sender may address them. */
export function withRecipientsOf(
  ids: readonly string[],
  { values, given }: MessageInput,
  reader: StoreReader,
): MessageInput {
  const rows = ids.flatMap((id) => reader.get(notifications, id) ?? []);
  const recipients = Object.fromEntries(
    [...RECIPIENT_FIELDS, "additionalDeviceIds" as const].map((field) => [
      field,
      [...new Set(rows.flatMap((row) => row[field]))],
    ]),
  );
  // Given, so that those of a template do not replace them when all of them were deleted.
  return { values: { ...values, ...recipients }, given: new Set([...given, ...Object.keys(recipients)]) };
}

/** Maximum length of a subject. */
const MAX_SUBJECT_LENGTH = 255;

/**
 * The all-clear of a message: same urgency, with the all-clear tone. Its text is the sender's, else the one prepared
 * with the message, else the subject names what is over.
 */
export function composeAllClear(
  row: NotificationRow,
  text: { subject?: string | null; body?: string | null },
): Record<string, unknown> {
  const subject = text.subject || row.allClearSubject;
  const body = text.body || row.allClearBody;
  return {
    subject:
      subject ||
      [...sentence("message.all-clear", { subject: row.subject ?? "" })].slice(0, MAX_SUBJECT_LENGTH).join(""),
    ...(body ? { body } : {}),
    alertTone: "all-clear1",
    priority: row.priority ?? "normal",
    followUpForNotificationId: row.id,
  };
}
