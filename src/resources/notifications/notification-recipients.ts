import { boolean, computed, integer, internal, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * People a notification was sent to.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0042-api-contract.md,
 * `/v1/notifications/{notificationId}/recipients`
 */
export default defineResource({
  name: "notification-recipients",
  doc: "A recipient of a notification, with name and address at that time and the answer.",
  paths: [{ at: "notifications/{notificationId}/recipients", methods: ["get"] }],
  idParam: "recipientId",
  scope: "parent",
  replicate: "D",
  appendOnly: true,
  unique: [["notificationId", "userId"]],
  fields: {
    notificationId: ref("The notification.", "notifications", { required: true, onDelete: "cascade" }),
    userId: ref("Account of the recipient; null after its deletion.", "users", { readOnly: true }),
    endpointId: ref("Appliance the recipient belongs to.", "endpoints", { readOnly: true }),
    name: text("The recipient's name at that time.", { readOnly: true, max: 140 }),
    email: text("The recipient's email address at that time.", { readOnly: true, max: 254 }),
    type: text("The recipient's user type at that time.", { readOnly: true, max: 140 }),
    read: boolean("The recipient has read the message.", { readOnly: true, default: false }),
    readTimestamp: timestamp("When the recipient first read it.", { readOnly: true }),
    confirmationResponse: text("The recipient's last answer.", { readOnly: true, max: 140 }),
    confirmationResponseTimestamp: timestamp("When that answer was given.", { readOnly: true }),
    dynamicReply: text("Dynamic reply sent to the recipient.", { readOnly: true, max: 600 }),
    declined: boolean(
      "The recipient opted out of the template: nothing was sent, and the deliveries contain none of the recipient's devices.",
      {
        readOnly: true,
        default: false,
      },
    ),
    defunct: computed("The account of the recipient has since been deleted.", "boolean"),
    devicesSummary: computed(
      "Deliveries to the recipient's devices by level; returned with includeDevicesSummary.",
      "object",
      { of: integer("Count."), when: "includeDevicesSummary" },
    ),
    hiddenAt: internal("Epoch ms at which the recipient hid the message or was excluded from it.", "integer"),
  },
});
