import type notifications from "../../resources/notifications/notifications.ts";
import type { RowOf } from "../../schema/resource.ts";

type NotificationRow = RowOf<typeof notifications>;

/** Fields of a notification that an appliance needs to play it without other rows. @source docs/decisions/0040-replication.md, Section 5 */
export const RELAYED_FIELDS = [
  ...(["subject", "body", "image", "imageAltText", "audio", "alertTone", "ttsType", "ttsCustomContent"] as const),
  ...(["ttsSpeed", "expiration", "expiresAt", "priority", "drill", "metadata", "notificationSource"] as const),
  ...(["effectiveSettings", "priorityLevel", "notAfter"] as const),
] as const satisfies readonly (keyof NotificationRow)[];

/** Body of a broadcast command. */
export interface RelayedMessage {
  /** Id of the notification in the cloud. */
  notificationId: string;
  /** When a user last retried it, epoch ms; 0 for the first attempt. */
  round: number;
  fields: Partial<Pick<NotificationRow, (typeof RELAYED_FIELDS)[number]>>;
  /** The endpoint that initiated it. */
  from: string | null;
  /**
   * Device ids of the appliance, each with the cloud's delivery number. A standby appliance finds its own device by the
   * identifier.
   */
  devices: readonly (readonly [deviceId: string, delivery: number, deviceIdentifier?: string])[];
}
