import { integer, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INPUT_RULE_LIMIT, inputRuleFields, servingEndpointField } from "./input-rule-fields.ts";

/**
 * Called numbers that ring speakers after hours.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md
 */
export default defineResource({
  name: "night-bells",
  doc: "A number whose calls ring the selected speakers until the call is answered or times out.",
  paths: [{ at: "night-bells" }],
  idParam: "nightBellId",
  scope: "organisation",
  replicate: "B",
  limit: INPUT_RULE_LIMIT,
  clone: { omit: ["number"] },
  fields: {
    ...inputRuleFields("night-bell"),
    number: text("Called number; without one the night bell never rings.", {
      min: 1,
      max: 50,
      unique: true,
    }),
    timeout: integer("Maximum ringing time.", { min: 5, max: 600, default: 60, unit: "s" }),
    pause: integer("Pause between two rings.", { min: 0, max: 60, default: 4, unit: "s" }),
    endpointId: servingEndpointField(),
  },
});
