import { computed, integer, number, text } from "../../schema/field.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "./notification-activity-types.ts";

const COUNT = integer("Count.", { required: true });

/** Preview of a draft. */
const PREVIEW = {
  recipientCount: integer("Number of recipients.", { required: true }),
  userDevices: computed("Number of user devices of the recipients, by type.", "object", { of: COUNT }),
  devices: computed("Number of appliance devices that would be contacted, by type.", "object", { of: COUNT }),
  notReached: computed("Devices to which nothing would be sent, by reason.", "array", {
    of: { reason: text("Reason.", { required: true }), count: COUNT },
  }),
  offline: computed("Devices that would be contacted and may not respond; the first 100 by name.", "object", {
    of: {
      count: COUNT,
      devices: computed("The first 100.", "array", {
        of: {
          id: text("Id of the device.", { required: true }),
          name: text("Description of the device.", { required: true }),
          type: text("Device type.", { required: true }),
          reason: text("Reason why it may not respond.", { required: true }),
        },
      }),
    },
  }),
  inUse: integer("Devices currently in use by another message.", { required: true }),
  soundSeconds: number("Length of the audio.", { required: true, unit: "s" }),
  expectedSeconds: number("Expected time from sending to the last device response, from past messages.", { unit: "s" }),
};

/**
 * Name of the counter of a kind of activity: `broadcast-started` is counted in `broadcastStartedCount`.
 * @source docs/decisions/0042-api-contract.md
 */
export function progressCounterName(type: string): string {
  return `${type.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())}Count`;
}

/** How far a notification is: percentComplete, the ledger's levels, and a counter per kind of activity. */
export const PROGRESS_FIELDS = {
  percentComplete: integer("Share of devices that have left the level planned, in percent.", {
    required: true,
    max: 100,
  }),
  devices: computed("Number of devices by level.", "object", { of: COUNT }),
  preview: computed("For a draft: recipients and devices that would be reached.", "object", {
    of: PREVIEW,
    sometimes: true,
  }),
  ...Object.fromEntries(
    NOTIFICATION_ACTIVITY_TYPES.map((type) => [
      progressCounterName(type),
      integer(`Number of ${type} activities.`, { required: true }),
    ]),
  ),
};
