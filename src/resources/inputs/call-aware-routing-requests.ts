import { text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { INPUT_RULE_LIMIT, inputRuleFields, MAX_NUMBER_PATTERN, servingEndpointField } from "./input-rule-fields.ts";

/**
 * Calls that a call manager asks about before it routes them. @source decisions.md 13; service-api.md, /v1/bulk-uploads;
 * own choice: the pattern must match the whole number that was called; how the call is routed stays with the call manager
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
