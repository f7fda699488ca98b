import { boolean, computed, integer, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INPUT_RULE_LIMIT, inputRuleFields, servingEndpointField } from "./input-rule-fields.ts";

/**
 * Rules for machine inputs: contact closures, buttons, HTTP requests, MQTT messages.
 * @source docs/decisions/0013-other-resources.md
 */
export default defineResource({
  name: "m2m-inputs",
  doc: "A rule for a machine input (a contact, a button, a request) and the message it starts.",
  paths: [{ at: "m2m-inputs" }],
  idParam: "m2mInputId",
  scope: "organisation",
  replicate: "B",
  limit: INPUT_RULE_LIMIT,
  clone: {},
  indexes: [["source"]],
  fields: {
    ...inputRuleFields("m2m-input"),
    source: text("Name of the input as reported by its plugin; case-insensitive.", {
      required: true,
      min: 1,
      max: 255,
    }),
    state: text("State that triggers the rule, such as `closed`; case-insensitive; default: any state.", { max: 140 }),
    scenarioId: ref(
      "Scenario to start for the API device with the name of the source. The message is sent only if the scenario could not be started.",
      "scenarios",
      {
        embed: "scenario",
        onDelete: "refuse",
      },
    ),
    notificationSource: option(
      "Notification source of its messages.",
      ["m2m", "panic-button", "inbound-cap", "inbound-email"],
      {
        default: "m2m",
      },
    ),
    useAreas: boolean(
      "Messages also go to the areas of interest listed in `areaOfInterestIds` of the input, as sent by alert feeds.",
      { default: false },
    ),
    throttlingInSecs: integer("Minimum time before the rule triggers again (debounce).", {
      max: 86_400,
      default: 5,
      unit: "s",
    }),
    endpointId: servingEndpointField(),
    lastStartedAt: computed("When the rule was last triggered.", "timestamp", { nullable: true }),
  },
});
