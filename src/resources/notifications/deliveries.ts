import { boolean, computed, integer, internal, number, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";
import { DELIVERY_LEVELS } from "./delivery-levels.ts";
import { DEVICE_OUTCOMES } from "./device-outcomes.ts";

const ATTRIBUTE = text("Value.", { max: 100_000 });

/**
 * Delivery ledger of all channels: a row per device and notification; its level only rises.
 * @source docs/decisions/0020-delivery-states.md; docs/decisions/0016-notification-engine.md;
 * docs/decisions/0042-api-contract.md, `/v1/notifications/{notificationId}/devices`
 */
export default defineResource({
  name: "deliveries",
  doc: "Delivery of one notification to one device, with the level that was verified.",
  paths: [{ at: "notifications/{notificationId}/devices", methods: ["get"], itemBy: "deviceId" }],
  idParam: "deliveryId",
  scope: "parent",
  replicate: "D",
  appendOnly: true,
  unique: [
    ["notificationId", "deviceId"],
    ["notificationId", "userDeviceId"],
    ["notificationId", "collaborationGroupId"],
  ],
  indexes: [
    ["notificationId", "level", "textOnly"],
    ["provider", "level"],
  ],
  fields: {
    notificationId: ref("The notification.", "notifications", { required: true, onDelete: "cascade" }),
    deviceId: ref("Target phone, speaker or zone; null for user devices and after its deletion.", "devices", {
      readOnly: true,
    }),
    userDeviceId: ref("Target user device; null for appliance devices and after its deletion.", "user-devices", {
      readOnly: true,
    }),
    collaborationGroupId: ref(
      "Target collaboration group; null for devices and after its deletion.",
      "collaboration-groups",
      { readOnly: true },
    ),
    userId: ref("Owner of the user device.", "users", {
      readOnly: true,
      embed: "user",
      embedUnless: "excludeUser",
    }),
    endpointId: ref("Appliance that delivers.", "endpoints", { readOnly: true, embed: "endpoint" }),
    deviceIdentifier: text("The device's identifier at that time.", { readOnly: true, max: 4_096 }),
    name: text("The device's description at that time.", { readOnly: true }),
    type: text("The device's type at that time.", { readOnly: true, max: 140 }),
    provider: text("Plugin that delivers.", { readOnly: true, max: 140 }),
    attributes: computed("Current attributes of the device.", "object", { of: ATTRIBUTE }),
    level: option("Delivery level.", DELIVERY_LEVELS, { readOnly: true, default: "planned" }),
    outcome: computed(`Level and textOnly in plain terms: ${DEVICE_OUTCOMES.join(", ")}.`, "text"),
    reason: text("Reason for the level.", { readOnly: true, max: 500 }),
    reasonSentence: sentenceField("Reason"),
    attempt: integer("Attempts so far.", { readOnly: true, default: 0 }),
    nextAttemptAt: computed("When it is tried again; null when no further attempt is due.", "timestamp", {
      nullable: true,
    }),
    priority: integer("0 highest … 9 lowest.", { readOnly: true, max: 9, default: 5 }),
    late: boolean("The device joined after the audio had started.", { readOnly: true, default: false }),
    textOnly: boolean("The device shows the text and did not play audio, or in an emergency less than half of it.", {
      readOnly: true,
      default: false,
    }),
    plannedAt: timestamp("When the delivery was planned.", { readOnly: true }),
    sentAt: timestamp("When the channel accepted it for sending.", { readOnly: true }),
    acceptedAt: timestamp("When the device accepted it.", { readOnly: true }),
    playingAt: timestamp("When playback on the device was verified.", { readOnly: true }),
    provenAt: timestamp("When it was verified as heard or confirmed.", { readOnly: true }),
    matchPValue: number(
      "Chance that a recording of the room without the audio matches it as well as the microphone's; null without a microphone.",
      { readOnly: true },
    ),
    matchDelayMs: number("Time from the player to the microphone, where the recording matches best.", {
      ...{ readOnly: true, unit: "ms" },
    }),
    matchLevelDb: number("Level of the audio in the recording over everything else in it.", {
      ...{ readOnly: true, unit: "dB" },
    }),
    endedAt: timestamp("When the delivery ended.", { readOnly: true }),
    notAfter: internal("Epoch ms after which the delivery is obsolete.", "integer"),
    retryAt: internal("Epoch ms of the next attempt; null when none is due.", "integer"),
    repeatLevel: internal(
      "Level of the last repetition to a recipient who had already been reached; level and times keep the best result. Null without a repetition.",
      "text",
    ),
  },
});
