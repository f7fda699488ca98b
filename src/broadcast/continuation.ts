import { invalidValue } from "../base/errors.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import type { By, Reader } from "../store/store.ts";
import { type GivenMessage, type NotificationRow, RECIPIENT_FIELDS } from "./compose.ts";

/** What a message that continues another takes from it. */
export type Inherited = Pick<NotificationRow, "drill" | "incidentId" | "parentNotificationId">;

/**
 * The message that a sender's message continues; null when it stands alone. Throws CallerError for one that the sender
 * can't see, that was a preview, or whose drill is not this one's.
 */
export function continuedBy({ values, given }: GivenMessage, reader: Reader, by: By): NotificationRow | null {
  const id = values.followUpForNotificationId;
  if (!id) return null;
  const row = reader.get(notifications, id, by.scope);
  if (!row || row.draft)
    throw invalidValue("followUpForNotificationId", "There is no such notification that was sent.");
  if (given.has("drill") && values.drill !== row.drill) {
    throw invalidValue("drill", "What continues a drill is a drill, and what continues a live message is live.");
  }
  return row;
}

/** What follows from a message belongs to where it belongs. @source interfaces.md, Log-in and drill */
export function inheritedFrom({ drill, incidentId, id }: NotificationRow): Inherited {
  return { drill, incidentId, parentNotificationId: id };
}

/** The same message to everybody whom `row` named, whether or not the sender could name them. */
export function toRecipientsOf(row: NotificationRow, { values, given }: GivenMessage): GivenMessage {
  const recipients = Object.fromEntries(RECIPIENT_FIELDS.map((field) => [field, row[field]]));
  return { values: { ...values, ...recipients }, given };
}

/** Longest subject. */
const MOST_SUBJECT = 255;

/**
 * The all-clear for a message: as urgent, and with the tone for it. own choice: the subject says what is over, unless the
 * sender says it in other words.
 */
export function allClearFor(
  row: NotificationRow,
  { subject, body }: { subject?: string | null; body?: string | null },
): Record<string, unknown> {
  return {
    subject: subject || [...`All clear: ${row.subject ?? ""}`].slice(0, MOST_SUBJECT).join(""),
    ...(body ? { body } : {}),
    alertTone: "all-clear1",
    priority: row.priority ?? "normal",
    followUpForNotificationId: row.id,
  };
}
