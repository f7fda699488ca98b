import { boolean, computed, integer, internal, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** People a notification was sent to. @source decisions.md 8; digest `/v1/notifications/{notificationId}/recipients` */
export default defineResource({
  name: "notification-recipients",
  doc: "A person a notification was sent to, with name and address as they were then, and the answer.",
  paths: [{ at: "notifications/{notificationId}/recipients", methods: ["get"] }],
  idParam: "recipientId",
  scope: "parent",
  replicate: "D",
  appendOnly: true,
  unique: [["notificationId", "userId"]],
  fields: {
    notificationId: ref("Notification that was sent.", "notifications", { required: true, onDelete: "cascade" }),
    userId: ref("The recipient's account; null once it is deleted.", "users", { readOnly: true }),
    endpointId: ref("Appliance the recipient belongs to.", "endpoints", { readOnly: true }),
    name: text("The recipient's name at that time.", { readOnly: true, max: 140 }),
    email: text("The recipient's mail address at that time.", { readOnly: true, max: 254 }),
    type: text("The recipient's user type at that time.", { readOnly: true, max: 140 }),
    read: boolean("The recipient has read it.", { readOnly: true, default: false }),
    readTimestamp: timestamp("When the recipient read it first.", { readOnly: true }),
    confirmationResponse: text("The recipient's last answer.", { readOnly: true, max: 140 }),
    confirmationResponseTimestamp: timestamp("When that answer was given.", { readOnly: true }),
    dynamicReply: text("What the recipient was told after answering.", { readOnly: true, max: 600 }),
    declined: boolean(
      "The recipient declines messages of its template: nothing was sent, and none of the own devices is among the deliveries.",
      {
        readOnly: true,
        default: false,
      },
    ),
    defunct: computed("The recipient's account was deleted since.", "boolean"),
    devicesSummary: computed(
      "Deliveries to the recipient's devices by level; returned with includeDevicesSummary.",
      "object",
      { of: integer("How many."), when: "includeDevicesSummary" },
    ),
    hiddenAt: internal(
      "Epoch ms at which the recipient removed it from the own list, or was left out of it.",
      "integer",
    ),
  },
});
