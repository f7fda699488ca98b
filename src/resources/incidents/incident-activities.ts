import { json, option, ref, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Steps of an incident; `end-incident` ends it.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md,
 * `/v1/incidents/{incidentId}/activities`
 */
export default defineResource({
  name: "incident-activities",
  doc: "A step of an incident.",
  paths: [{ at: "incidents/{incidentId}/activities", methods: ["get", "post"] }],
  idParam: "activityId",
  scope: "parent",
  replicate: "D",
  fields: {
    incidentId: ref("Incident it belongs to.", "incidents", { required: true, createOnly: true, onDelete: "cascade" }),
    type: option(
      "Type of step. start-incident is written by Carillon only.",
      [
        "start-incident",
        "all-clear",
        "note",
        "roster-status",
        "end-incident",
        "incident-escalated",
        "escalated-incident-linked",
      ],
      { required: true, createOnly: true },
    ),
    details: json(
      "Details. For an all-clear: `subject` and `body` of the message; `ifNoneReady` uses them only if no all-clear text was prepared; `again` allows sending it a second time. For a roster-status: `userId`, `status` and `location` of the person.",
    ),
    userId: ref("User who added the step; null for Carillon itself.", "users", { readOnly: true, embed: "user" }),
    notificationId: uuid("Notification of an all-clear.", { readOnly: true }),
  },
});
