import { boolean, computed, integer, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INPUT_RULE_LIMIT, inputRuleFields, servingEndpointField } from "./input-rule-fields.ts";

/**
 * What machines tell: contact closures, buttons, HTTP requests, MQTT messages. @source decisions.md 13; own choice: the
 * fields beside recipients and template
 */
export default defineResource({
  name: "m2m-inputs",
  doc: "Something that a machine tells (a contact, a button, a request), and what it starts.",
  paths: [{ at: "m2m-inputs" }],
  idParam: "m2mInputId",
  scope: "organisation",
  replicate: "B",
  limit: INPUT_RULE_LIMIT,
  clone: {},
  indexes: [["source"]],
  fields: {
    ...inputRuleFields("m2m-input"),
    source: text("What the input calls itself, as its plugin tells it; compared without case.", {
      required: true,
      min: 1,
      max: 255,
    }),
    state: text("State that starts it, such as `closed`, compared without case; any when not given.", { max: 140 }),
    scenarioId: ref(
      "Scenario that it starts, for the device of the source's name; the message goes out only where it could not be started.",
      "scenarios",
      {
        embed: "scenario",
        onDelete: "refuse",
      },
    ),
    notificationSource: option(
      "What its messages are told to be started by.",
      ["m2m", "panic-button", "inbound-cap", "inbound-email"],
      {
        default: "m2m",
      },
    ),
    useAreas: boolean(
      "Its messages go to the areas of interest, too, that the input names as `areaOfInterestIds`, as alerts from feeds do.",
      { default: false },
    ),
    throttlingInSecs: integer("Time that must pass before it starts something again; contacts bounce.", {
      max: 86_400,
      default: 5,
      unit: "s",
    }),
    endpointId: servingEndpointField(),
    lastStartedAt: computed("When it last started something.", "timestamp", { nullable: true }),
  },
});
