import { many, option, ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { LOST_REFERENCES, lostReferencesField } from "../lost-references.ts";
import { ALARM_STATUSES } from "./alarm-types.ts";

/**
 * Notification sent when an alarm enters a status.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/alarms/{alarmId}/actions`
 */
export default defineResource({
  name: "alarm-actions",
  doc: "A message that is sent when an alarm enters a status.",
  paths: [{ at: "alarms/{alarmId}/actions" }],
  idParam: "actionId",
  scope: "organisation",
  replicate: "B",
  fields: {
    alarmId: ref("Alarm it belongs to.", "alarms", { required: true, createOnly: true, onDelete: "cascade" }),
    triggerOnStatus: option("Status that triggers the action.", ALARM_STATUSES, { required: true }),
    messageTemplateId: ref(
      "Template of the message. Without one a blank message goes to the administration list.",
      "message-templates",
      {
        embed: "messageTemplate",
        dependents: "alarm",
        // Without its template it would be sent to other recipients.
        onDelete: "refuse",
      },
    ),
    areaOfInterestIds: many(
      "Areas whose occupants receive it. Recipients require a template and replace the recipients of the template.",
      "areas-of-interest",
      { embed: "areasOfInterest", lostIn: LOST_REFERENCES },
    ),
    collaborationGroupIds: many("Chat rooms that receive it.", "collaboration-groups", {
      embed: "collaborationGroups",
      lostIn: LOST_REFERENCES,
    }),
    deviceGroupIds: many("Groups whose devices receive it.", "device-groups", {
      embed: "deviceGroups",
      dependents: "alarm-action",
      lostIn: LOST_REFERENCES,
    }),
    distributionListIds: many("Lists whose users receive it.", "distribution-lists", {
      embed: "distributionLists",
      dependents: "alarm-action",
      lostIn: LOST_REFERENCES,
    }),
    userIds: many("Users who receive it.", "users", { embed: "users", lostIn: LOST_REFERENCES }),
    [LOST_REFERENCES]: lostReferencesField("the action reaches no one, instead of the recipients of the template"),
  },
});
