import type { Sentence } from "../../lib/sentences/sentences.ts";
import notificationActivities from "../../resources/notifications/notification-activities.ts";
import type { RowOf, SystemValues } from "../../schema/resource.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import { incrementCounterById } from "./counters.ts";

export type ActivityRow = RowOf<typeof notificationActivities>;

/** What a user says about the end of a message, such as a comment. */
export type ActivityDetails = Readonly<Record<string, unknown>>;

/** Plain values of an entry; `message` or `reason` is its text for people. */
export type ActivityValues = Readonly<Record<string, unknown>> & { message?: Sentence; reason?: Sentence | null };

/** Content of an entry. */
export type ActivityEntry = Pick<ActivityRow, "notificationId" | "type"> &
  Partial<Pick<ActivityRow, "userId" | "endpointId" | "readStatus" | "confirmationOption">> & {
    details?: ActivityValues;
  };

/** Adds an entry to a notification's activity log, and counts it. */
export function addActivity(tx: Transaction, values: ActivityEntry, by: ActorContext): ActivityRow {
  const system: SystemValues<typeof notificationActivities> = { ...values };
  incrementCounterById(tx, values.notificationId, `activity:${values.type}`, 1);
  tx.emit("notification.activity-added", { notificationId: values.notificationId });
  return tx.create(notificationActivities, {}, by, system);
}
