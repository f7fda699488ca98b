import { boolean, computed, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { LOCATION_FIELDS } from "../scenarios/location-fields.ts";
import { INCIDENT_RESOURCES_FIELD } from "./incident-resource-fields.ts";
import { INCIDENT_ROSTERING_FIELD } from "./rostering-fields.ts";

/**
 * Incidents and drills.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0021-login-and-drills.md;
 * docs/decisions/0042-api-contract.md, `/v1/incidents`
 */
export default defineResource({
  name: "incidents",
  doc: "An event or drill, with all notifications sent for it.",
  paths: [{ at: "incidents" }],
  idParam: "incidentId",
  scope: "domain",
  replicate: "D",
  indexes: [["endedAt"]],
  fields: {
    incidentPlanId: ref("Plan it follows.", "incident-plans", { createOnly: true, embed: "incidentPlan" }),
    name: text("Name; default: the name of the scenario or plan.", {
      createOnly: true,
      max: 140,
    }),
    drill: boolean("Drill: every notification sent for it is marked as a drill.", { createOnly: true, default: false }),
    legalHold: boolean(
      "Legal hold: nothing that belongs to the incident is removed, by retention or by hand, until it is lifted.",
      { default: false },
    ),
    startedById: ref("User who started it.", "users", { readOnly: true, embed: "startedBy" }),
    scenarioId: ref("Scenario that started it.", "scenarios", { readOnly: true, embed: "scenario" }),
    notificationId: uuid("Notification that started it.", { readOnly: true }),
    messageTemplateId: ref("Template of that notification.", "message-templates", {
      readOnly: true,
      embed: "messageTemplate",
    }),
    notificationCreatedAt: computed("When that notification was sent.", "timestamp", { nullable: true }),
    siteId: ref("Site of the incident.", "sites", { readOnly: true, embed: "site" }),
    buildingId: ref("Building of the incident.", "buildings", { readOnly: true, embed: "building" }),
    floorId: ref("Floor of the incident.", "floors", { readOnly: true, embed: "floor" }),
    zoneId: ref("Zone of the incident.", "zones", { readOnly: true, embed: "zone" }),
    location: computed("Location of the incident, level by level; returned with includeLocation.", "object", {
      of: LOCATION_FIELDS,
      nullable: true,
      when: "includeLocation",
    }),
    endedAt: timestamp("When it ended; null while it is active.", { readOnly: true }),
    notificationCount: computed("Notifications sent for it.", "integer", { when: "includeNotificationCount" }),
    rostering: INCIDENT_ROSTERING_FIELD,
    resources: INCIDENT_RESOURCES_FIELD,
  },
});
