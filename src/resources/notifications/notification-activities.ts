import { computed, json, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { NOTIFICATION_ACTIVITY_TYPES } from "./notification-activity-types.ts";

/**
 * The diary of a notification; never changed. Clients add to it by actions: expire and abort, a recipient's answer and
 * reading.
 * @source decisions.md 8 and 14; digest `/v1/notifications/{notificationId}/activities`
 */
export default defineResource({
  name: "notification-activities",
  doc: "Something that happened to a notification.",
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
    notificationId: ref("Notification it happened to.", "notifications", { required: true, onDelete: "cascade" }),
    userId: ref("User who did it or whom it concerns.", "users", { embed: "user" }),
    endpointId: ref("Appliance that observed it.", "endpoints", { readOnly: true }),
    endpointName: computed("Its name.", "text", { nullable: true, when: "includeEndpointName" }),
    type: option("What happened.", NOTIFICATION_ACTIVITY_TYPES, { required: true }),
    details: json("Particulars, by type."),
    readStatus: option("For set-read-status: what it was set to.", ["read", "unread"]),
    confirmationOption: text("For confirmation: the answer that was given.", { max: 140 }),
  },
});
