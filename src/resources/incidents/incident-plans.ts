import { boolean, computed, many, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INCIDENT_RESOURCES_FIELD } from "./incident-resource-fields.ts";
import { PLAN_ROSTERING_FIELD } from "./rostering-fields.ts";

const ROLES = {
  of: { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }) },
  when: "includeRostering",
};

/**
 * Plans for incidents.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/incident-plans`
 */
export default defineResource({
  name: "incident-plans",
  doc: "A plan for one type of incident: messages, recipients and files.",
  paths: [{ at: "incident-plans" }],
  idParam: "incidentPlanId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  fields: {
    name: text("Name of the plan.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Visible in the domains below the plan's domain.", { default: false }),
    description: text("Purpose, at most 10000 characters.", { max: 10_000 }),
    allowMultipleActiveIncidents: boolean(
      "Allows several active incidents of the plan. If false, a message or scenario joins the active incident; drills and live incidents are kept apart.",
      { default: true },
    ),
    scenarioIds: many("Scenarios offered during an incident of the plan.", "scenarios", {
      embed: "scenarios",
      maxItems: 200,
    }),
    messageTemplateIds: many(
      "Templates offered during an incident of the plan; follow-ups once a message has been sent.",
      "message-templates",
      { embed: "messageTemplates", dependents: "incident-plan-quick-access", maxItems: 200 },
    ),
    rostering: PLAN_ROSTERING_FIELD,
    rosterMemberSiteRoles: computed(
      "Site roles of the people to account for; returned with includeRostering.",
      "array",
      ROLES,
    ),
    rosterManagerSiteRoles: computed(
      "Site roles of the people who account for them; returned with includeRostering.",
      "array",
      ROLES,
    ),
    resources: INCIDENT_RESOURCES_FIELD,
  },
});
