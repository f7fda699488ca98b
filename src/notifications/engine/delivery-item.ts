import type { AudioTarget, DeliveryItem } from "../../plugin-api/index.ts";
import { deliveryText } from "../compose/delivery-text.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseSendingProfile } from "../compose/sending-profile.ts";

/** What is the same for all devices of one message. */
export type SharedItem = Omit<
  DeliveryItem,
  "deliveryId" | "device" | "attempt" | "reached" | "audio" | "holdMs" | "settings"
>;

/** Makes the shared part of a message's items; `imagePath` is that of its stored picture. */
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

/** No group: whoever opens no stream of its own has nothing to join. */
const NO_MULTICAST = { group: "0.0.0.0", port: 0 };

/** What devices with a stream of their own are told, whose channel knows where they listen; null for an SSRC not stored. */
export function streamTargetOf(row: NotificationRow, ttl: number): AudioTarget | null {
  return (
    multicastTargetOf(row, ttl) ?? (row.ssrc === null ? null : { ...NO_MULTICAST, codec: "PCMU", ttl, ssrc: row.ssrc })
  );
}

/** The pooled stream of a message as its listeners are told of it; null for a message without one. */
export function multicastTargetOf(row: NotificationRow, ttl: number): AudioTarget | null {
  const { audioGroup: group, audioPort: port, ssrc } = row;
  return group && port && ssrc !== null ? { group, port, codec: "PCMU", ttl, ssrc } : null;
}
