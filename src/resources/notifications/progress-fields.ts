import { computed, integer, number, option, text } from "../../schema/field.ts";
import { sentenceField } from "../sentence-field.ts";
import { type DeviceOutcome, REACH_VERDICTS } from "./device-outcomes.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "./notification-activity-types.ts";

const COUNT = integer("Count.", { required: true });

/** Number of devices by outcome. */
export const OUTCOME_COUNTS = {
  heard: integer("Heard by a microphone, or confirmed by a person.", { required: true }),
  played: integer("Proven by the device to play or show the message.", { required: true }),
  textOnly: integer("Shows the text and did not play audio, or in an emergency less than half of it.", {
    required: true,
  }),
  noReceipt: integer("Sent, without a receipt.", { required: true }),
  notReached: integer("Not reached.", { required: true }),
  skipped: integer("Skipped on purpose.", { required: true }),
  waiting: integer("Not decided yet.", { required: true }),
} satisfies Record<DeviceOutcome, unknown>;

/** Preview of a draft. */
const PREVIEW = {
  recipientCount: integer("Number of recipients.", { required: true }),
  userDevices: computed("Number of user devices of the recipients, by type.", "object", { of: COUNT }),
  devices: computed("Number of appliance devices that would be contacted, by type.", "object", { of: COUNT }),
  notReached: computed("Devices to which nothing would be sent, by reason.", "array", {
    of: { reason: text("Reason.", { required: true }), reasonSentence: sentenceField("Reason"), count: COUNT },
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
          reasonSentence: sentenceField("Reason"),
        },
      }),
    },
  }),
  inUse: integer("Devices currently in use by another message.", { required: true }),
  soundSeconds: number("Length of the audio.", { required: true, unit: "s" }),
  expectedSeconds: number("Expected time from sending to the last device response, from past messages.", { unit: "s" }),
};

/**
 * Counter name of an activity type: `broadcast-started` is counted in `broadcastStartedCount`.
 * @source docs/decisions/0042-api-contract.md
 */
export function progressCounterName(type: string): string {
  return `${type.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())}Count`;
}

/** Progress of a notification: percentComplete, delivery levels, and a counter per activity type. */
export const PROGRESS_FIELDS = {
  percentComplete: integer("Share of devices that have left the level planned, in percent.", {
    required: true,
    max: 100,
  }),
  devices: computed("Number of devices by level.", "object", { of: COUNT }),
  outcomes: computed("Number of devices by outcome.", "object", { of: OUTCOME_COUNTS }),
  verdict: option("What the outcomes add up to; it counts once percentComplete is 100.", REACH_VERDICTS, {
    required: true,
  }),
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
