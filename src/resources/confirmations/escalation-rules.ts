import { file, integer, many, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { AUDIO_TYPES, IMAGE_TYPES } from "../messages/media-types.ts";

/**
 * Escalation by number of answers.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0042-api-contract.md
 */
export default defineResource({
  name: "escalation-rules",
  doc: "A second notification, sent if an answer was given too often or too rarely some time after the first.",
  paths: [{ at: "confirmation-requests/{confirmationRequestId}/escalation-rules" }],
  idParam: "escalationRuleId",
  scope: "parent",
  replicate: "B",
  fields: {
    confirmationRequestId: ref("Request the rule belongs to.", "confirmation-requests", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    delay: integer("Time after sending at which the rule is evaluated once.", { required: true, unit: "s" }),
    optionLabel: text("Answer that is counted; one of the request's options.", { required: true, min: 1, max: 140 }),
    comparison: option("How the count is compared with comparisonValue.", ["GT", "LT", "EQ", "NE"], { required: true }),
    comparisonValue: integer("Number the count is compared with.", { required: true }),
    subject: text("Subject of the second notification.", { required: true, min: 1, max: 255 }),
    body: text("Body of the second notification.", { max: 10_000 }),
    distributionListIds: many("Lists whose users receive it.", "distribution-lists", {
      embed: "distributionLists",
      dependents: "escalation-rule",
    }),
    deviceGroupIds: many("Device groups that play and display it.", "device-groups", {
      embed: "deviceGroups",
      dependents: "escalation-rule",
    }),
    areaOfInterestIds: many("Areas whose occupants receive it.", "areas-of-interest", { embed: "areasOfInterest" }),
    userIds: many("Users who receive it.", "users", { embed: "users" }),
    collaborationGroupIds: many("Collaboration groups that receive it.", "collaboration-groups", {
      embed: "collaborationGroups",
    }),
    image: file("Image displayed with it.", IMAGE_TYPES),
    audio: file("Recording to play.", AUDIO_TYPES),
  },
});
