import { computed, many, option, pin, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INPUT_RULE_LIMIT, inputRuleFields, MAX_NUMBER_PATTERN } from "./input-rule-fields.ts";

/** Effects of a call to the appliance. @source docs/decisions/0640-calls-to-the-appliance.md */
const CALL_ACTIONS = ["SEND", "LIVE_PAGE", "RECORDING", "ALL_CLEAR", "LAST_BROADCAST", "ECHO_TEST"] as const;

/**
 * Rules for dialled numbers that send a message.
 * @source docs/decisions/0042-api-contract.md, `/v1/dialcast-dialing-configurations`
 */
export default defineResource({
  name: "dialcast-dialing-configurations",
  doc: "A number that users dial to send a message or to start scenarios.",
  paths: [{ at: "dialcast-dialing-configurations" }],
  idParam: "dialcastDialingConfigurationId",
  scope: "organisation",
  replicate: "B",
  limit: INPUT_RULE_LIMIT,
  clone: {},
  fields: {
    ...inputRuleFields("dialcast-dialing-configuration"),
    type: option(
      "`NOTIFICATION` sends the message; `ACTIONS_WITH_FALLBACK_NOTIFICATION` starts the scenarios and sends the message if none could be started.",
      ["NOTIFICATION", "ACTIONS_WITH_FALLBACK_NOTIFICATION"],
      { required: true },
    ),
    dialingPatternRegex: text(
      "RE2 pattern of the dialled numbers; it must match the whole number. Its groups are available as `$1` … below.",
      { required: true, min: 1, max: MAX_NUMBER_PATTERN },
    ),
    messageTemplateNamePattern: text("Name of the template to use if it exists, with `$1` … for the dialled groups.", {
      min: 1,
      max: 255,
    }),
    recipientNamePattern: text(
      "Name of a device group or distribution list that also receives it, with `$1` … for the dialled groups.",
      { min: 1, max: 255 },
    ),
    scenarioIds: many("Scenarios to start, in this order.", "scenarios", {
      embed: "scenarios",
      dependents: "dialcast-dialing-configuration",
      maxItems: 20,
    }),
    callAction: option(
      "Effect of a call to the appliance. `SEND` sends the message or starts the scenarios, by `type`; `LIVE_PAGE` sends the caller's voice at once; `RECORDING` records it, plays it back and sends it on the key 1; `ALL_CLEAR` sends the all-clear to the newest message of the template; `LAST_BROADCAST` plays the newest announcement to the device groups; `ECHO_TEST` plays the caller's voice back. All but `SEND` need a call by SIP.",
      CALL_ACTIONS,
      { default: "SEND" },
    ),
    pin: pin("PIN of 4 to 12 digits to be entered after the number; none by default."),
    authenticationEnabled: computed("Whether a PIN is required.", "boolean"),
    endpointIds: many("Appliances that apply the rule; all if empty.", "endpoints", { embed: "endpoints" }),
  },
});
