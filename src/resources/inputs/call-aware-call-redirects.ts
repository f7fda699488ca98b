import { text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { LONGEST_PATTERN, MOST_RULES, ruleFields, servedBy } from "./input-rule.ts";

/**
 * Calls that a call manager sends on to the appliance. @source decisions.md 13; service-api.md, /v1/bulk-uploads;
 * own choice: the pattern must match the whole number that was called
 */
export default defineResource({
  name: "call-aware-call-redirects",
  doc: "A message that is sent when a call to certain numbers is redirected.",
  paths: [{ at: "call-aware-call-redirects" }],
  idParam: "callRedirectId",
  scope: "organisation",
  replicate: "B",
  limit: MOST_RULES,
  clone: {},
  fields: {
    ...ruleFields("callaware-call-redirect"),
    numberPattern: text("RE2 pattern of the numbers called, such as `9?911`; the whole number must match.", {
      required: true,
      min: 1,
      max: LONGEST_PATTERN,
    }),
    endpointId: servedBy(),
  },
});
