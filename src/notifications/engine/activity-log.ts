import notificationActivities from "../../resources/notifications/notification-activities.ts";
import type { RowOf, SystemValues } from "../../schema/resource.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import { incrementCounterById } from "./counters.ts";

export type ActivityRow = RowOf<typeof notificationActivities>;

/** What a user says about the end of a message, such as a comment. */
export type ActivityDetails = Readonly<Record<string, unknown>>;

/** Content of an entry; `details` holds plain values, its `message` is text for people. */
export type ActivityEntry = Pick<ActivityRow, "notificationId" | "type"> &
  Partial<Pick<ActivityRow, "userId" | "endpointId" | "readStatus" | "confirmationOption">> & {
    details?: Readonly<Record<string, unknown>>;
  };

/** Adds an entry to a notification's activity log, and counts it. */
export function addActivity(tx: Transaction, values: ActivityEntry, by: ActorContext): ActivityRow {
  const system: SystemValues<typeof notificationActivities> = { ...values };
  incrementCounterById(tx, values.notificationId, `activity:${values.type}`, 1);
  tx.emit("notification.activity-added", { notificationId: values.notificationId });
  return tx.create(notificationActivities, {}, by, system);
}
