import { boolean, computed, json, list, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { floorPlanField } from "../places/floor-plan-field.ts";
import { LOCATION_STRATEGIES } from "./location-fields.ts";

/** Summary of a sent notification. */
const NOTIFICATION_SUMMARY = {
  id: uuid("Id of the notification."),
  subject: text("Subject."),
  body: text("Body."),
  messageTemplateId: uuid("Template of the message."),
  priority: text("Priority."),
  drill: boolean("The notification is a drill."),
  notificationSource: text("Source of the notification."),
  createdAt: timestamp("When it was sent."),
  expiresAt: timestamp("When it expires."),
  abortedAt: timestamp("When it was cancelled."),
};

/**
 * Started scenarios.
 * @source docs/decisions/0007-scenarios.md; docs/decisions/0021-login-and-drills.md;
 * docs/decisions/0042-api-contract.md, `/v1/scenario-notifications`
 */
export default defineResource({
  name: "scenario-notifications",
  doc: "A started scenario, with the answers given and the notifications sent.",
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
    drill: boolean("The scenario was started as a drill.", { createOnly: true, default: false }),
    fields: json("Questions with their answers; null for an unanswered question.", {
      maxBytes: 1_048_576,
    }),
    location: json(
      "Location: `{site, building, floor, zone}`, each with id, name and externalId; null without a location.",
    ),
    messages: json("Additional recipients of single messages: `[{messageId, distributionListIds, userIds, …}]`.", {
      maxBytes: 262_144,
    }),
    messagesNotSent: json("Messages without recipients at the location: `[{messageId, name}]`.", { readOnly: true }),
    initiatorId: ref("User who started it.", "users", { readOnly: true, embed: "initiator" }),
    initiationDeviceId: ref("Device that started it.", "api-devices", { readOnly: true, embed: "initiationDevice" }),
    initiationLookupValue: text("Device name given at the start; kept even if the device is unknown.", {
      readOnly: true,
    }),
    locationResolutionStrategy: list(
      "Ways to find the location that the start allowed, in order; empty for the default.",
      option("A way to find the location.", LOCATION_STRATEGIES),
      { readOnly: true, default: [] },
    ),
    siteId: ref("Site it was started for.", "sites", { readOnly: true }),
    buildingId: ref("Building it was started for.", "buildings", { readOnly: true }),
    floorId: ref("Floor it was started for.", "floors", { readOnly: true }),
    zoneId: ref("Zone it was started for.", "zones", { readOnly: true }),
    incidentId: ref("Incident it started or belongs to.", "incidents", { readOnly: true }),
    floorPlanImageWithBoundaryFile: floorPlanField(
      "Floor plan of the location, with the boundary of the zone.",
      "includeFloorPlanWithBoundary",
    ),
    events: computed("Notifications, in the order of the scenario's messages.", "array", {
      of: {
        id: uuid("Id of the event, that of the notification."),
        createdAt: timestamp("When it was sent."),
        scenarioNotificationId: uuid("Id of the started scenario."),
        notificationId: uuid("Id of the notification."),
        notification: computed("The notification.", "object", { of: NOTIFICATION_SUMMARY }),
      },
    }),
  },
});
