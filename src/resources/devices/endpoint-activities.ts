import { json, option, ref, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";
import { ENDPOINT_ACTIVITY_TYPES } from "./endpoint-activity-types.ts";

/**
 * Activities and commands of appliances.
 * @source docs/decisions/0012-extensions-and-endpoints.md; docs/decisions/0042-api-contract.md
 */
export default defineResource({
  name: "endpoint-activities",
  doc: "An activity, report or command of an appliance.",
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
    endpointId: ref("Appliance concerned.", "endpoints", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    type: option("Type of activity or command.", ENDPOINT_ACTIVITY_TYPES, { required: true, createOnly: true }),
    value: json("Details, by type. Never contains a secret.", { maxBytes: 65_536 }),
    reasonSentence: sentenceField("`reason` of the details", "value.reason"),
    referenceType: option("Type of the related object.", [
      "message-template",
      "distribution-list",
      "scheduled-notifications",
    ]),
    referenceId: uuid("Id of the related object."),
    state: option("State; a command starts as pending.", ["pending", "fail", "success"]),
    severity: option("Severity. Default: info.", ["debug", "info", "warn", "error"], {
      default: "info",
    }),
  },
});
