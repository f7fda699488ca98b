import notificationActivities from "../resources/broadcasts/notification-activities.ts";
import type { RowOf, SystemValues } from "../schema/resource.ts";
import type { By, Transaction } from "../store/store.ts";
import { addToCountOf } from "./counts.ts";

/** An entry of a notification's diary. */
export type ActivityRow = RowOf<typeof notificationActivities>;

/** What an entry says; `details` holds plain values, `message` being words for people. */
export type ActivityValues = Pick<ActivityRow, "notificationId" | "type"> &
  Partial<Pick<ActivityRow, "userId" | "endpointId" | "readStatus" | "confirmationOption">> & {
    details?: Readonly<Record<string, unknown>>;
  };

/** Writes an entry into a notification's diary, and counts it. */
export function addActivity(tx: Transaction, values: ActivityValues, by: By): ActivityRow {
  const system: SystemValues<typeof notificationActivities> = { ...values };
  addToCountOf(tx, values.notificationId, `activity:${values.type}`, 1);
  tx.emit("diary.written", { notificationId: values.notificationId });
  return tx.create(notificationActivities, {}, by, system);
}
