import { boolean, computed, integer, list, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Questions to recipients. Lists leave out the two sub-resources with `includeDynamicReplies=false` and
 * `includeEscalationRules=false`.
 * @source service-api.md, Confirmation request; decisions.md 8; digest `/v1/confirmation-requests`
 */
export default defineResource({
  name: "confirmation-requests",
  doc: "The answers that recipients of a notification may give, and what follows from them.",
  paths: [{ at: "confirmation-requests" }],
  idParam: "confirmationRequestId",
  scope: "domain",
  replicate: "B",
  clone: { children: ["dynamic-replies", "escalation-rules"] },
  fields: {
    name: text("What people call the request.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Domains below the request's own see it too.", { default: false }),
    options: list(
      "Answers to choose from, in order, each once. own choice: at most 32 of 140 characters.",
      text("One answer.", { min: 1, max: 140 }),
      { required: true, minItems: 1, maxItems: 32 },
    ),
    expirationPeriod: integer("Seconds from the send during which answers are taken; null for no end.", {
      min: 1,
      unit: "s",
    }),
    repeatInterval: integer(
      "Seconds after which it is sent once more to whom has not answered; null for never (own choice).",
      { min: 30, max: 86_400, unit: "s" },
    ),
    repeatLimit: integer("How often it is sent once more at most (own choice).", { min: 1, max: 100, default: 3 }),
    initiateTrackingOptions: list(
      "One flag per answer: a true one follows the devices of whoever gives it until the notification ends.",
      boolean("Whether the answer in this place starts tracking."),
      { maxItems: 32 },
    ),
    dynamicReplies: computed("Replies to answers, oldest first.", "array", {
      rowsOf: "dynamic-replies",
      unless: "includeDynamicReplies",
    }),
    escalationRules: computed("Rules that follow from too many or too few answers, oldest first.", "array", {
      rowsOf: "escalation-rules",
      unless: "includeEscalationRules",
    }),
  },
});
