import { boolean, computed, json, ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Scenarios that were started. @source decisions.md 7; interfaces.md, Log-in and drill; digest `/v1/scenario-notifications` */
export default defineResource({
  name: "scenario-notifications",
  doc: "A scenario that was started, with the answers that were given and what was sent.",
  paths: [{ at: "scenario-notifications", methods: ["get", "post"] }],
  idParam: "scenarioNotificationId",
  scope: "domain",
  replicate: "D",
  fields: {
    scenarioId: ref("Scenario that was started.", "scenarios", {
      required: true,
      createOnly: true,
      embed: "scenario",
      onDelete: "cascade",
    }),
    drill: boolean("It is practised.", { createOnly: true, default: false }),
    fields: json("Answers: `[{fieldId | fieldVariable, answer}]`; read with name, variable and options.", {
      maxBytes: 262_144,
    }),
    location: json(
      "Where: `{site, building, floor, zone}`, each by id, externalId or name; the lowest alone is enough.",
    ),
    messages: json("Further recipients of single messages: `[{messageId, distributionListIds, userIds, …}]`."),
    initiatorId: ref("User who started it.", "users", { readOnly: true, embed: "initiator" }),
    initiationDeviceId: ref("Device that started it.", "api-devices", { readOnly: true, embed: "initiationDevice" }),
    siteId: ref("Site it was started for.", "sites", { readOnly: true }),
    buildingId: ref("Building it was started for.", "buildings", { readOnly: true }),
    floorId: ref("Floor it was started for.", "floors", { readOnly: true }),
    zoneId: ref("Zone it was started for.", "zones", { readOnly: true }),
    incidentId: ref("Incident it started or belongs to.", "incidents", { readOnly: true }),
    events: computed("What was sent: `[{id, createdAt, notificationId, notification}]`.", "array"),
  },
});
