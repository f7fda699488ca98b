import { ConflictError, invalidValue } from "../../lib/errors.ts";
import incidents from "../../resources/incidents/incidents.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { ActorContext, StoreReader } from "../../store/store.ts";
import { type MessageInput, type NotificationRow, RECIPIENT_FIELDS } from "./message-builder.ts";

/** What a message takes from what it belongs to. */
export type InheritedContext = Partial<Pick<NotificationRow, "drill" | "incidentId" | "parentNotificationId">>;

/**
 * What a message belongs to: the message that it continues, the incident that it is sent in. `incidentId` names one
 * whether or not the sender sees it. Throws CallerError for what the sender can't see, for a preview, and for a drill that
 * is not this one's; ConflictError for an incident that has ended.
 * @source interfaces.md, Log-in and drill
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
      throw invalidValue("incidentId", "What continues a message belongs to the same incident.");
    }
    return { drill: before.drill, incidentId: before.incidentId, parentNotificationId: before.id };
  }
  const incident = incidentId ? reader.get(incidents, incidentId) : findIncident(given, reader, by);
  if (!incident) return {};
  requireSameDrill(message, incident, "What is sent for a drill is a drill, and for a live incident it is live.");
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
    throw invalidValue("followUpForNotificationId", "There is no such notification that was sent.");
  }
  requireSameDrill(message, row, "What continues a drill is a drill, and what continues a live message is live.");
  return row;
}

function findIncident(id: string | null, reader: StoreReader, by: ActorContext): RowOf<typeof incidents> | null {
  if (id === null) return null;
  const incident = reader.get(incidents, id, by.scope);
  if (!incident) throw invalidValue("incidentId", "There is no such incident.");
  if (incident.endedAt !== null) throw new ConflictError("The incident has ended.", "incidentId");
  return incident;
}

function requireSameDrill({ values, given }: MessageInput, { drill }: { drill: boolean }, words: string): void {
  if (given.has("drill") && values.drill !== drill) throw invalidValue("drill", words);
}

/** The same message to everybody whom the messages `ids` named, whether or not the sender could name them. */
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
  return { values: { ...values, ...recipients }, given };
}

/** Longest subject. */
const MAX_SUBJECT_LENGTH = 255;

/**
 * The all-clear for a message: as urgent, and with the tone for it. own choice: in the words that were made ready with the
 * message, unless the sender says it in others; without any, the subject says what is over.
 */
export function composeAllClear(
  row: NotificationRow,
  words: { subject?: string | null; body?: string | null },
): Record<string, unknown> {
  const subject = words.subject || row.allClearSubject;
  const body = words.body || row.allClearBody;
  return {
    subject: subject || [...`All clear: ${row.subject ?? ""}`].slice(0, MAX_SUBJECT_LENGTH).join(""),
    ...(body ? { body } : {}),
    alertTone: "all-clear1",
    priority: row.priority ?? "normal",
    followUpForNotificationId: row.id,
  };
}
