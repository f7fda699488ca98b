import notificationActivities from "../../resources/notifications/notification-activities.ts";
import type { RowOf, SystemValues } from "../../schema/resource.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import { incrementCounterById } from "./counters.ts";

/** An entry of a notification's diary. */
export type ActivityRow = RowOf<typeof notificationActivities>;

/** What an entry says; `details` holds plain values, `message` being words for people. */
export type ActivityEntry = Pick<ActivityRow, "notificationId" | "type"> &
  Partial<Pick<ActivityRow, "userId" | "endpointId" | "readStatus" | "confirmationOption">> & {
    details?: Readonly<Record<string, unknown>>;
  };

/** Writes an entry into a notification's diary, and counts it. */
export function addActivity(tx: Transaction, values: ActivityEntry, by: ActorContext): ActivityRow {
  const system: SystemValues<typeof notificationActivities> = { ...values };
  incrementCounterById(tx, values.notificationId, `activity:${values.type}`, 1);
  tx.emit("notification.activity-added", { notificationId: values.notificationId });
  return tx.create(notificationActivities, {}, by, system);
}
