import { ConflictError, invalidValue } from "../base/errors.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import incidents from "../resources/incidents/incidents.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Reader } from "../store/store.ts";
import { type GivenMessage, type NotificationRow, RECIPIENT_FIELDS } from "./compose.ts";

/** What a message takes from what it belongs to. */
export type Inherited = Partial<Pick<NotificationRow, "drill" | "incidentId" | "parentNotificationId">>;

/**
 * What a message belongs to: the message that it continues, the incident that it is sent in. `incidentId` names one
 * whether or not the sender sees it. Throws CallerError for what the sender can't see, for a preview, and for a drill that
 * is not this one's; ConflictError for an incident that has ended.
 * @source interfaces.md, Log-in and drill
 */
export function inheritedBy(message: GivenMessage, reader: Reader, by: By, incidentId?: string): Inherited {
  const before = continuedBy(message, reader, by);
  const given = message.values.incidentId ?? null;
  if (before) {
    if (given !== null && given !== before.incidentId) {
      throw invalidValue("incidentId", "What continues a message belongs to the same incident.");
    }
    return { drill: before.drill, incidentId: before.incidentId, parentNotificationId: before.id };
  }
  const incident = incidentId ? reader.get(incidents, incidentId) : incidentGiven(given, reader, by);
  if (!incident) return {};
  requireSameDrill(message, incident, "What is sent for a drill is a drill, and for a live incident it is live.");
  return { drill: incident.drill, incidentId: incident.id };
}

function continuedBy(message: GivenMessage, reader: Reader, by: By): NotificationRow | null {
  const id = message.values.followUpForNotificationId;
  if (!id) return null;
  const row = reader.get(notifications, id, by.scope);
  if (!row || row.draft) {
    throw invalidValue("followUpForNotificationId", "There is no such notification that was sent.");
  }
  requireSameDrill(message, row, "What continues a drill is a drill, and what continues a live message is live.");
  return row;
}

function incidentGiven(id: string | null, reader: Reader, by: By): RowOf<typeof incidents> | null {
  if (id === null) return null;
  const incident = reader.get(incidents, id, by.scope);
  if (!incident) throw invalidValue("incidentId", "There is no such incident.");
  if (incident.endedAt !== null) throw new ConflictError("The incident has ended.", "incidentId");
  return incident;
}

function requireSameDrill({ values, given }: GivenMessage, { drill }: { drill: boolean }, words: string): void {
  if (given.has("drill") && values.drill !== drill) throw invalidValue("drill", words);
}

/** The same message to everybody whom the messages `ids` named, whether or not the sender could name them. */
export function toRecipientsOf(ids: readonly string[], { values, given }: GivenMessage, reader: Reader): GivenMessage {
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
const MOST_SUBJECT = 255;

/**
 * The all-clear for a message: as urgent, and with the tone for it. own choice: in the words that were made ready with the
 * message, unless the sender says it in others; without any, the subject says what is over.
 */
export function allClearFor(
  row: NotificationRow,
  words: { subject?: string | null; body?: string | null },
): Record<string, unknown> {
  const subject = words.subject || row.allClearSubject;
  const body = words.body || row.allClearBody;
  return {
    subject: subject || [...`All clear: ${row.subject ?? ""}`].slice(0, MOST_SUBJECT).join(""),
    ...(body ? { body } : {}),
    alertTone: "all-clear1",
    priority: row.priority ?? "normal",
    followUpForNotificationId: row.id,
  };
}
