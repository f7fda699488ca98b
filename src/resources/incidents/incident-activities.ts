import { json, option, ref, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** What was done in an incident; `end-incident` ends it. @source decisions.md 13; digest `/v1/incidents/{incidentId}/activities` */
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
      "What was done. own choice: note, all-clear and roster-status beside the documented words; start-incident is written by Carillon alone.",
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
      "More about it; `subject` and `body` of an all-clear are the words that are sent, with `ifNoneReady` those for want of words made ready with its messages, with `again` also where it has been sent already; `userId`, `status` and `location` of a roster-status say how somebody is.",
    ),
    userId: ref("Who did it; null for Carillon itself.", "users", { readOnly: true, embed: "user" }),
    notificationId: uuid("The message that was sent with it, of an all-clear.", { readOnly: true }),
  },
});
