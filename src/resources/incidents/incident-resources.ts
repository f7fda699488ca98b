import { ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INCIDENT_RESOURCE_FIELDS, MAX_INCIDENT_RESOURCES } from "./incident-resource-fields.ts";

/**
 * Files and links of an incident.
 * @source docs/decisions/0042-api-contract.md, `/v1/incidents/{incidentId}/resources`
 */
export default defineResource({
  name: "incident-resources",
  doc: "A file or link that belongs to an incident.",
  paths: [{ at: "incidents/{incidentId}/resources", methods: ["get", "post", "delete"] }],
  idParam: "resourceId",
  scope: "parent",
  replicate: "D",
  limit: { most: 2 * MAX_INCIDENT_RESOURCES, per: "incidentId" },
  fields: {
    incidentId: ref("Incident it belongs to.", "incidents", { required: true, createOnly: true, onDelete: "cascade" }),
    ...INCIDENT_RESOURCE_FIELDS,
  },
});
