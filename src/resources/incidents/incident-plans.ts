import { boolean, computed, many, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INCIDENT_RESOURCES_FIELD } from "./incident-resource-fields.ts";
import { PLAN_ROSTERING_FIELD } from "./rostering-fields.ts";

const ROLES = {
  of: { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }) },
  when: "includeRostering",
};

/** What is done when something happens. @source decisions.md 13; digest `/v1/incident-plans` */
export default defineResource({
  name: "incident-plans",
  doc: "A plan for one kind of incident: who is told what, and the files people need.",
  paths: [{ at: "incident-plans" }],
  idParam: "incidentPlanId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  fields: {
    name: text("What people call the plan.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Domains below the plan's own see it too.", { default: false }),
    description: text("What it is for. own choice: at most 10000 characters.", { max: 10_000 }),
    allowMultipleActiveIncidents: boolean(
      "A second incident may begin while one goes on. own choice: true unless set; else a message or scenario joins the one that goes on, drills and live ones apart.",
      { default: true },
    ),
    scenarioIds: many("Scenarios that are offered while an incident of the plan goes on.", "scenarios", {
      embed: "scenarios",
      maxItems: 200,
    }),
    messageTemplateIds: many(
      "Templates that are offered while an incident of the plan goes on; follow-ups once something was sent.",
      "message-templates",
      { embed: "messageTemplates", dependents: "incident-plan-quick-access", maxItems: 200 },
    ),
    rostering: PLAN_ROSTERING_FIELD,
    rosterMemberSiteRoles: computed("Roles of who is accounted for; given with includeRostering.", "array", ROLES),
    rosterManagerSiteRoles: computed("Roles of who accounts for them; given with includeRostering.", "array", ROLES),
    resources: INCIDENT_RESOURCES_FIELD,
  },
});
