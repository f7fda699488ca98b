import { computed, integer, number, text } from "../../schema/field.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "./notification-activity-types.ts";

const HOW_MANY = integer("How many.", { required: true });

/** What a draft says: whom and what it would reach. own choice */
const PREVIEW = {
  recipientCount: integer("People.", { required: true }),
  userDevices: computed("Devices of recipients, by type.", "object", { of: HOW_MANY }),
  devices: computed("Devices that would be called, by type.", "object", { of: HOW_MANY }),
  notReached: computed("Devices to which nothing would be sent, by the reason.", "array", {
    of: { reason: text("Why.", { required: true }), count: HOW_MANY },
  }),
  offline: computed("Devices that would be called and may not answer; the first 100 by name.", "object", {
    of: {
      count: HOW_MANY,
      devices: computed("The first 100.", "array", {
        of: {
          id: text("Id of the device.", { required: true }),
          name: text("Its description.", { required: true }),
          type: text("Its type.", { required: true }),
          reason: text("Why it may not answer.", { required: true }),
        },
      }),
    },
  }),
  inUse: integer("Devices that another message holds now.", { required: true }),
  soundSeconds: number("Length of what would be heard.", { required: true, unit: "s" }),
  expectedSeconds: number("From the send to the last word of a device, by the past.", { unit: "s" }),
};

/** Name of the counter of a kind of activity: `broadcast-started` is counted in `broadcastStartedCount`. @source digest, progress */
export function progressCounterName(type: string): string {
  return `${type.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())}Count`;
}

/** How far a notification is: percentComplete, the ledger's levels, and a counter per kind of activity. */
export const PROGRESS_FIELDS = {
  percentComplete: integer("Devices that are no longer only planned, in percent.", { required: true, max: 100 }),
  devices: computed("Devices by level.", "object", { of: HOW_MANY }),
  preview: computed("Of a draft: whom and what it would reach.", "object", { of: PREVIEW, sometimes: true }),
  ...Object.fromEntries(
    NOTIFICATION_ACTIVITY_TYPES.map((type) => [
      progressCounterName(type),
      integer(`Activities ${type}.`, { required: true }),
    ]),
  ),
};
