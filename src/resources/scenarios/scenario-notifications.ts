import { boolean, computed, json, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { floorPlanField } from "../places/floor-plan-field.ts";

/** What is shown of a message that was sent. own choice */
const SENT = {
  id: uuid("Id of the notification."),
  subject: text("Its first line."),
  body: text("Its text."),
  messageTemplateId: uuid("Template it was made from."),
  priority: text("How urgent it is."),
  drill: boolean("It is practised."),
  notificationSource: text("What started it."),
  createdAt: timestamp("When it was sent."),
  expiresAt: timestamp("When it expires."),
  abortedAt: timestamp("When it was ended."),
};

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
    fields: json("Questions as they were asked, with their answers; null for one that was left open.", {
      maxBytes: 1_048_576,
    }),
    location: json("Where: `{site, building, floor, zone}`, each with id, name and externalId; null for nowhere."),
    messages: json("Further recipients of single messages: `[{messageId, distributionListIds, userIds, …}]`.", {
      maxBytes: 262_144,
    }),
    messagesNotSent: json("Messages that had nobody to go to there: `[{messageId, name}]`.", { readOnly: true }),
    initiatorId: ref("User who started it.", "users", { readOnly: true, embed: "initiator" }),
    initiationDeviceId: ref("Device that started it.", "api-devices", { readOnly: true, embed: "initiationDevice" }),
    initiationLookupValue: text(
      "What the device was called by whoever started it; kept for a device that nobody knows.",
      {
        readOnly: true,
      },
    ),
    siteId: ref("Site it was started for.", "sites", { readOnly: true }),
    buildingId: ref("Building it was started for.", "buildings", { readOnly: true }),
    floorId: ref("Floor it was started for.", "floors", { readOnly: true }),
    zoneId: ref("Zone it was started for.", "zones", { readOnly: true }),
    incidentId: ref("Incident it started or belongs to.", "incidents", { readOnly: true }),
    floorPlanImageWithBoundaryFile: floorPlanField(
      "Plan of the floor it was started for, with the outline of its zone.",
      "includeFloorPlanWithBoundary",
    ),
    events: computed("What was sent, in the order of the scenario's messages.", "array", {
      of: {
        id: uuid("Id of the event, that of the notification."),
        createdAt: timestamp("When it was sent."),
        scenarioNotificationId: uuid("Id of the started scenario."),
        notificationId: uuid("Id of the notification."),
        notification: computed("The notification.", "object", { of: SENT }),
      },
    }),
  },
});
