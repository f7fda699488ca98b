import notifications from "../resources/broadcasts/notifications.ts";
import type { Reader } from "../store/store.ts";
import { writeRecipients } from "./recipients.ts";
import type { StageNeeds } from "./stage.ts";
import { queueUserDevices } from "./stages/queue.ts";

/** Ids of the notifications whose recipients are still to be written, oldest first. */
export function openRecipients(reader: Reader): string[] {
  const rows = reader.all<{ id: string }>(
    "SELECT n.id FROM broadcast_open_recipients o JOIN notifications n ON n.pk = o.notification ORDER BY n.pk",
  );
  return rows.map(({ id }) => id);
}

/** True while a message's recipients are still being written: it is not settled before they are. */
export function hasOpenRecipients(reader: Reader, notificationId: string): boolean {
  return openRecipients(reader).includes(notificationId);
}

/**
 * Writes the recipients of a message to very many users, and the rows for their devices, beside the call to the
 * devices of appliances, which goes first. May be repeated after a crash.
 */
export async function finishRecipients(notificationId: string, needs: StageNeeds): Promise<void> {
  const row = needs.store.get(notifications, notificationId);
  if (!row || !hasOpenRecipients(needs.store, notificationId)) return;
  await writeRecipients(row, needs, "normal");
  await queueUserDevices(row, needs, "normal");
  await needs.store.write((tx) => {
    tx.run("DELETE FROM broadcast_open_recipients WHERE notification = ?", row.pk);
    tx.emit("deliveries.changed", { notificationId });
  });
}
