import { json, option, ref, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { ENDPOINT_ACTIVITY_TYPES } from "./endpoint-activity-types.ts";

/** What an appliance did or is told to do. @source service-api.md, endpoint activities; decisions.md 12 */
export default defineResource({
  name: "endpoint-activities",
  doc: "Something that an appliance did, reports or is ordered to do.",
  paths: [{ at: "extensions/{extensionId}/endpoints/{endpointId}/activities", methods: ["get", "post"] }],
  idParam: "activityId",
  scope: "organisation",
  replicate: "D",
  indexes: [["endpointId", "type"]],
  fields: {
    extensionId: ref("Extension of the appliance.", "extensions", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    endpointId: ref("Appliance it is about.", "endpoints", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    type: option("What happened or is ordered.", ENDPOINT_ACTIVITY_TYPES, { required: true, createOnly: true }),
    value: json("Particulars, by type. Never holds a secret.", { maxBytes: 65_536 }),
    referenceType: option("Kind of object it relates to.", [
      "message-template",
      "distribution-list",
      "scheduled-notifications",
    ]),
    referenceId: uuid("Id of the object it relates to."),
    state: option("How far it got; an order begins as pending.", ["pending", "fail", "success"]),
    severity: option("How much it matters. own choice: info when not given.", ["debug", "info", "warn", "error"], {
      default: "info",
    }),
  },
});
