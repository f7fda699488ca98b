import { ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INCIDENT_RESOURCE_FIELDS, MAX_INCIDENT_RESOURCES } from "./incident-resource-fields.ts";

/**
 * Files and links of a plan.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md,
 * `/v1/incident-plans/{incidentPlanId}/resources`
 */
export default defineResource({
  name: "incident-plan-resources",
  doc: "A file or link that belongs to a plan.",
  paths: [{ at: "incident-plans/{incidentPlanId}/resources", methods: ["get", "post", "delete"] }],
  idParam: "resourceId",
  scope: "parent",
  replicate: "B",
  limit: { most: MAX_INCIDENT_RESOURCES, per: "incidentPlanId" },
  fields: {
    incidentPlanId: ref("Plan of the resource.", "incident-plans", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    ...INCIDENT_RESOURCE_FIELDS,
  },
});
