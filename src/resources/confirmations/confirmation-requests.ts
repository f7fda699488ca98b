import { boolean, computed, integer, list, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Questions to recipients. Lists leave out the two sub-resources with `includeDynamicReplies=false` and
 * `includeEscalationRules=false`.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0042-api-contract.md,
 * `/v1/confirmation-requests`
 */
export default defineResource({
  name: "confirmation-requests",
  doc: "The answers that recipients of a notification may give, and the actions that follow.",
  paths: [{ at: "confirmation-requests" }],
  idParam: "confirmationRequestId",
  scope: "domain",
  replicate: "B",
  clone: { children: ["dynamic-replies", "escalation-rules"] },
  fields: {
    name: text("Name of the request.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Visible in the domains below the request's domain.", { default: false }),
    options: list(
      "Answers to choose from, in order, without duplicates. At most 32, each of at most 140 characters.",
      text("One answer.", { min: 1, max: 140 }),
      { required: true, minItems: 1, maxItems: 32 },
    ),
    expirationPeriod: integer("Time after sending during which answers are accepted; null for no limit.", {
      min: 1,
      unit: "s",
    }),
    repeatInterval: integer(
      "Time after which the message is sent again to recipients who have not answered; null for never.",
      { min: 30, max: 86_400, unit: "s" },
    ),
    repeatLimit: integer("Maximum number of repetitions.", { min: 1, max: 100, default: 3 }),
    initiateTrackingOptions: list(
      "One flag per answer: true tracks the devices of recipients who give it until the notification ends.",
      boolean("Whether the answer at this index starts tracking."),
      { maxItems: 32 },
    ),
    dynamicReplies: computed("Replies to answers, oldest first.", "array", {
      rowsOf: "dynamic-replies",
      unless: "includeDynamicReplies",
    }),
    escalationRules: computed("Escalation rules, oldest first.", "array", {
      rowsOf: "escalation-rules",
      unless: "includeEscalationRules",
    }),
  },
});
