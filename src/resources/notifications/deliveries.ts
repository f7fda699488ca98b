import { boolean, computed, integer, internal, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { DELIVERY_LEVELS } from "./delivery-levels.ts";

const ATTRIBUTE = text("Its value.", { max: 100_000 });

/**
 * The one ledger of every channel: a row per device and notification; its level only rises.
 * @source interfaces.md, Ledger levels; broadcast.md; digest `/v1/notifications/{notificationId}/devices`
 */
export default defineResource({
  name: "deliveries",
  doc: "What is proven about one device and one notification.",
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
    ["notificationId", "level"],
    ["provider", "level"],
  ],
  fields: {
    notificationId: ref("Notification that is delivered.", "notifications", { required: true, onDelete: "cascade" }),
    deviceId: ref("Phone, speaker or zone it goes to; null for devices of users, and once it is deleted.", "devices", {
      readOnly: true,
    }),
    userDeviceId: ref(
      "Device of a user it goes to; null for devices of appliances, and once it is deleted.",
      "user-devices",
      {
        readOnly: true,
      },
    ),
    collaborationGroupId: ref(
      "Group of another system that it goes to; null for devices, and once the group is deleted.",
      "collaboration-groups",
      { readOnly: true },
    ),
    userId: ref("Owner of the device of a user.", "users", {
      readOnly: true,
      embed: "user",
      embedUnless: "excludeUser",
    }),
    endpointId: ref("Appliance that acts.", "endpoints", { readOnly: true, embed: "endpoint" }),
    deviceIdentifier: text("The device's identifier at that time.", { readOnly: true, max: 4_096 }),
    name: text("The device's description at that time.", { readOnly: true }),
    type: text("The device's type at that time.", { readOnly: true, max: 140 }),
    provider: text("Plugin that carries the delivery.", { readOnly: true, max: 140 }),
    attributes: computed("The device's attributes as they are now.", "object", { of: ATTRIBUTE }),
    level: option("How far it is proven.", DELIVERY_LEVELS, { readOnly: true, default: "planned" }),
    reason: text("Why it stands where it stands, in words.", { readOnly: true, max: 500 }),
    attempt: integer("Tries so far.", { readOnly: true, default: 0 }),
    priority: integer("0 highest … 9 lowest.", { readOnly: true, max: 9, default: 5 }),
    late: boolean("Joined after the sound had begun.", { readOnly: true, default: false }),
    plannedAt: timestamp("When the row was made.", { readOnly: true }),
    sentAt: timestamp("When the channel took it.", { readOnly: true }),
    acceptedAt: timestamp("When the device said yes.", { readOnly: true }),
    playingAt: timestamp("When the device was proven to play.", { readOnly: true }),
    provenAt: timestamp("When it was proven heard or confirmed.", { readOnly: true }),
    endedAt: timestamp("When nothing more was to be expected.", { readOnly: true }),
    notAfter: internal("Epoch ms after which it is of no use.", "integer"),
    retryAt: internal("Epoch ms of the next try; null when none is due.", "integer"),
    repeatLevel: internal(
      "How far the last repeat to somebody who had been reached before has come; level and times keep the best. Null without one.",
      "text",
    ),
  },
});
