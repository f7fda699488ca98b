import { computed, many, option, secret, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INPUT_RULE_LIMIT, inputRuleFields, MAX_NUMBER_PATTERN } from "./input-rule-fields.ts";

/**
 * Numbers that people dial to send a message. @source digest `/v1/dialcast-dialing-configurations`; own choice: message
 * and authentication are members of their own, actions are scenarios, recipients are named as those of other rules
 */
export default defineResource({
  name: "dialcast-dialing-configurations",
  doc: "A number that is dialled to send a message or to start scenarios.",
  paths: [{ at: "dialcast-dialing-configurations" }],
  idParam: "dialcastDialingConfigurationId",
  scope: "organisation",
  replicate: "B",
  limit: INPUT_RULE_LIMIT,
  clone: {},
  fields: {
    ...inputRuleFields("dialcast-dialing-configuration"),
    type: option(
      "`NOTIFICATION` sends the message; `ACTIONS_WITH_FALLBACK_NOTIFICATION` starts the scenarios, and sends the message where none could be started.",
      ["NOTIFICATION", "ACTIONS_WITH_FALLBACK_NOTIFICATION"],
      { required: true },
    ),
    dialingPatternRegex: text(
      "RE2 pattern of the numbers dialled; the whole number must match, its groups are `$1` … below.",
      { required: true, min: 1, max: MAX_NUMBER_PATTERN },
    ),
    messageTemplateNamePattern: text(
      "Name of the template that is taken where there is one, with `$1` … for what was dialled.",
      { min: 1, max: 255 },
    ),
    recipientNamePattern: text(
      "Name of a device group or a distribution list that gets it too, with `$1` … for what was dialled.",
      { min: 1, max: 255 },
    ),
    scenarioIds: many("Scenarios that it starts, in this order.", "scenarios", {
      embed: "scenarios",
      dependents: "dialcast-dialing-configuration",
      maxItems: 20,
    }),
    pin: secret("Digits that must be entered after the number, 4 to 12; none when not given.", { max: 12 }),
    authenticationEnabled: computed("Whether digits must be entered.", "boolean"),
    endpointIds: many("Appliances that follow it; each when empty.", "endpoints", { embed: "endpoints" }),
  },
});
