import { text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INPUT_RULE_LIMIT, inputRuleFields, MAX_NUMBER_PATTERN, servingEndpointField } from "./input-rule-fields.ts";

/**
 * Rules for calls that a call manager asks about before routing.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/bulk-uploads`
 */
export default defineResource({
  name: "call-aware-routing-requests",
  doc: "A message that is sent when a call manager routes a call to certain numbers.",
  paths: [{ at: "call-aware-routing-requests" }],
  idParam: "routingRequestId",
  scope: "organisation",
  replicate: "B",
  limit: INPUT_RULE_LIMIT,
  clone: {},
  fields: {
    ...inputRuleFields("callaware-routing-request"),
    numberPattern: text("RE2 pattern of the called numbers, such as `9?911`; it must match the whole number.", {
      required: true,
      min: 1,
      max: MAX_NUMBER_PATTERN,
    }),
    endpointId: servingEndpointField(),
  },
});
