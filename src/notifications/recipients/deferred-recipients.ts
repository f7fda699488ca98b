import notifications from "../../resources/notifications/notifications.ts";
import type { StoreReader } from "../../store/store.ts";
import { filterDeliveries } from "../engine/device-filters.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import { queueUserDevices } from "../engine/stages/queue.ts";
import { writeRecipients } from "./recipient-writer.ts";

/** Ids of the notifications whose recipients are still to be written, oldest first. */
export function findPendingRecipientWrites(reader: StoreReader): string[] {
  const rows = reader.all<{ id: string }>(
    "SELECT n.id FROM notification_pending_recipients o JOIN notifications n ON n.pk = o.notification ORDER BY n.pk",
  );
  return rows.map(({ id }) => id);
}

/** True while a message's recipients are still being written: it cannot settle before that. */
export function hasPendingRecipients(reader: StoreReader, notificationId: string): boolean {
  return findPendingRecipientWrites(reader).includes(notificationId);
}

/**
 * Writes the recipients of a message to many users, and the rows for their devices, in parallel with the devices, which
 * go first. Safe to repeat after a crash.
 */
export async function writePendingRecipients(notificationId: string, deps: PipelineStageDeps): Promise<void> {
  const row = deps.store.get(notifications, notificationId);
  if (!row || !hasPendingRecipients(deps.store, notificationId)) return;
  await writeRecipients(row, deps, "normal");
  await queueUserDevices(row, deps, "normal");
  await filterDeliveries(row, deps, "normal", { deferred: true });
  await deps.store.write((tx) => {
    tx.run("DELETE FROM notification_pending_recipients WHERE notification = ?", row.pk);
    tx.emit("deliveries.changed", { notificationId });
  });
}
