import type { AudioTarget, DeliveryItem } from "../../plugin-api/index.ts";
import { deliveryText } from "../compose/delivery-text.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseSendingProfile } from "../compose/sending-profile.ts";

/** The part of a message's items that is the same for all devices. */
export type SharedItem = Omit<
  DeliveryItem,
  "deliveryId" | "device" | "attempt" | "reached" | "audio" | "holdMs" | "settings"
>;

/** Creates the shared part of a message's items; `imagePath` is the path of its stored image. */
export function createSharedItem(row: NotificationRow, notAfter: number, imagePath: string | null): SharedItem {
  const { volume, ringtone, persistentText, skipPhonesInUse, showsText, concatenatedText, durationMs, scroll } =
    parseSendingProfile(row);
  return {
    notificationId: row.id,
    priority: row.priorityLevel ?? 5,
    class: row.priorityLevel === 0 ? "emergency" : "routine",
    notAfter,
    sentAt: row.createdAt,
    expiresAt: row.expiresAt,
    ...(row.repeatNumber === null ? {} : { repeat: row.repeatNumber }),
    ...(row.followUpForNotificationId === null ? {} : { follows: row.followUpForNotificationId }),
    drill: row.drill,
    text: deliveryText(row),
    imagePath,
    profile: {
      ...{ volume, ringtone, persistentText, skipPhonesInUse },
      ...{ showsText, concatenatedText, durationMs, scroll },
    },
  };
}

/** No multicast group: a device that opens no stream of its own has nothing to join. */
const NO_MULTICAST = { group: "0.0.0.0", port: 0 };

/** Audio target of devices with their own stream, whose channel knows their address; null when no SSRC is stored. */
export function streamTargetOf(row: NotificationRow, ttl: number): AudioTarget | null {
  return (
    multicastTargetOf(row, ttl) ?? (row.ssrc === null ? null : { ...NO_MULTICAST, codec: "PCMU", ttl, ssrc: row.ssrc })
  );
}

/** Audio target of a message's multicast stream; null for a message without one. */
export function multicastTargetOf(row: NotificationRow, ttl: number): AudioTarget | null {
  const { audioGroup: group, audioPort: port, ssrc } = row;
  return group && port && ssrc !== null ? { group, port, codec: "PCMU", ttl, ssrc } : null;
}
