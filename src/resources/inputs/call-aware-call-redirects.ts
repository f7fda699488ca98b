import { text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INPUT_RULE_LIMIT, inputRuleFields, MAX_NUMBER_PATTERN, servingEndpointField } from "./input-rule-fields.ts";

/**
 * Calls that a call manager sends on to the appliance.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/bulk-uploads`
 */
export default defineResource({
  name: "call-aware-call-redirects",
  doc: "A message that is sent when a call to certain numbers is redirected.",
  paths: [{ at: "call-aware-call-redirects" }],
  idParam: "callRedirectId",
  scope: "organisation",
  replicate: "B",
  limit: INPUT_RULE_LIMIT,
  clone: {},
  fields: {
    ...inputRuleFields("callaware-call-redirect"),
    numberPattern: text("RE2 pattern of the called numbers, such as `9?911`; it must match the whole number.", {
      required: true,
      min: 1,
      max: MAX_NUMBER_PATTERN,
    }),
    endpointId: servingEndpointField(),
  },
});
