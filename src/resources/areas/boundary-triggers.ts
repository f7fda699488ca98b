import { integer, many, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { LOST_REFERENCES, lostReferencesField } from "../lost-references.ts";

/**
 * Notification sent when a user crosses the boundary of an area.
 * @source docs/decisions/0005-users-and-devices.md; docs/decisions/0042-api-contract.md
 */
export default defineResource({
  name: "boundary-triggers",
  doc: "A notification that is sent when a user enters or leaves an area.",
  paths: [{ at: "areas-of-interest/{areaOfInterestId}/boundary-triggers" }],
  idParam: "boundaryTriggerId",
  scope: "organisation",
  replicate: "B",
  fields: {
    areaOfInterestId: ref("Area whose boundary is monitored.", "areas-of-interest", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    name: text("Name of the trigger.", { required: true, min: 1, max: 140 }),
    action: option("Crossing that fires the trigger.", ["entered", "exited", "both"], { required: true }),
    perUserThrottlingInSecs: integer("Minimum time before the trigger fires again for the same user.", {
      required: true,
      unit: "s",
    }),
    notificationAction: option(
      "Recipients: none, the user who crossed the boundary, or the recipients of the template.",
      ["send-to-none", "send-to-user", "send-to-message-template-recipients"],
      { required: true },
    ),
    distributionListIds: many(
      "Lists whose users fire the trigger. Without lists and users, every user fires it.",
      "distribution-lists",
      { embed: "distributionLists", dependents: "area-of-interest-boundary-trigger", lostIn: LOST_REFERENCES },
    ),
    userIds: many("Users who fire the trigger.", "users", { embed: "users", lostIn: LOST_REFERENCES }),
    [LOST_REFERENCES]: lostReferencesField("no user fires the trigger, instead of every user"),
    messageTemplateId: ref("Template of the notification.", "message-templates", {
      embed: "messageTemplate",
      dependents: "area-of-interest-boundary-trigger",
      // Without its template the trigger would silently stop warning.
      onDelete: "refuse",
    }),
    subject: text("Subject of the notification; replaces that of the template.", { max: 255 }),
    body: text("Body of the notification; replaces that of the template.", { max: 10_000 }),
  },
});
