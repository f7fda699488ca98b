import { file, integer, many, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { AUDIO_TYPES, IMAGE_TYPES } from "../messages/media-types.ts";

/** Rules over counts of answers. @source service-api.md, Escalation rule; decisions.md 8; digest */
export default defineResource({
  name: "escalation-rules",
  doc: "A second notification that is sent when, some time after the first, an answer was given too often or too seldom.",
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
    delay: integer("Seconds from the send to the one test of the rule.", { required: true, unit: "s" }),
    optionLabel: text("Answer that is counted; one of the request's options.", { required: true, min: 1, max: 140 }),
    comparison: option("How the count is compared with comparisonValue.", ["GT", "LT", "EQ", "NE"], { required: true }),
    comparisonValue: integer("Number the count is compared with.", { required: true }),
    subject: text("First line of the second notification.", { required: true, min: 1, max: 255 }),
    body: text("Text of the second notification.", { max: 10_000 }),
    distributionListIds: many("Lists whose users get it.", "distribution-lists", {
      embed: "distributionLists",
      dependents: "escalation-rule",
    }),
    deviceGroupIds: many("Groups whose devices play and show it.", "device-groups", {
      embed: "deviceGroups",
      dependents: "escalation-rule",
    }),
    areaOfInterestIds: many("Areas; whoever is inside gets it.", "areas-of-interest", { embed: "areasOfInterest" }),
    userIds: many("Users who get it.", "users", { embed: "users" }),
    collaborationGroupIds: many("Chat groups that get it.", "collaboration-groups", { embed: "collaborationGroups" }),
    image: file("Picture that is shown with it.", IMAGE_TYPES),
    audio: file("Recording that is played.", AUDIO_TYPES),
  },
});
