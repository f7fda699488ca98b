import type notifications from "../../resources/notifications/notifications.ts";
import type { RowOf } from "../../schema/resource.ts";

type NotificationRow = RowOf<typeof notifications>;

/** What of a message an appliance needs to sound it by itself, whatever rows it has. @source replication.md 5 */
export const RELAYED_FIELDS = [
  ...(["subject", "body", "image", "imageAltText", "audio", "alertTone", "ttsType", "ttsCustomContent"] as const),
  ...(["ttsSpeed", "expiration", "expiresAt", "priority", "drill", "metadata", "notificationSource"] as const),
  ...(["effectiveSettings", "priorityLevel", "notAfter"] as const),
] as const satisfies readonly (keyof NotificationRow)[];

/** The body of a command to sound a message. */
export interface RelayedMessage {
  /** The message's id in the cloud. */
  notificationId: string;
  /** When somebody had it sent again; 0 at first. Epoch ms. */
  round: number;
  fields: Partial<Pick<NotificationRow, (typeof RELAYED_FIELDS)[number]>>;
  /** The endpoint that it was sent from. */
  from: string | null;
  /**
   * Ids of the appliance's devices, each with the number by which the cloud knows the delivery; an appliance that stands in
   * for another one finds its own device by the name.
   */
  devices: readonly (readonly [deviceId: string, delivery: number, deviceIdentifier?: string])[];
}
