import { computed, json, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "./notification-activity-types.ts";

/**
 * Append-only activity log of a notification. Clients add entries by actions: expire and abort, answers and read
 * status.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0014-enumerations.md;
 * docs/decisions/0042-api-contract.md, `/v1/notifications/{notificationId}/activities`
 */
export default defineResource({
  name: "notification-activities",
  doc: "An entry in the activity log of a notification.",
  paths: [
    { at: "notifications/{notificationId}/activities", methods: ["get"] },
    { at: "users/{userId}/notifications/{notificationId}/activities", methods: ["get"] },
  ],
  idParam: "activityId",
  scope: "parent",
  visibilityReferences: ["notificationId"],
  replicate: "D",
  appendOnly: true,
  indexes: [["notificationId", "type"]],
  fields: {
    notificationId: ref("The notification.", "notifications", { required: true, onDelete: "cascade" }),
    userId: ref("User who caused it or is concerned.", "users", { embed: "user" }),
    endpointId: ref("Appliance that recorded it.", "endpoints", { readOnly: true }),
    endpointName: computed("Name of the appliance.", "text", { nullable: true, when: "includeEndpointName" }),
    type: option("Type of activity.", NOTIFICATION_ACTIVITY_TYPES, { required: true }),
    details: json("Details, by type."),
    detailsSentence: sentenceField("Message or reason of the details"),
    readStatus: option("For set-read-status: the new status.", ["read", "unread"]),
    confirmationOption: text("For confirmation: the answer.", { max: 140 }),
  },
});
