import { json, option, ref, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Calls that started a message and still go on.
 * @source docs/decisions/0001-lists-and-paging.md; docs/decisions/0013-other-resources.md;
 * docs/decisions/0042-api-contract.md, `/v1/active-callaware-calls`
 */
export default defineResource({
  name: "active-callaware-calls",
  doc: "An active call that matched a rule.",
  paths: [{ at: "active-callaware-calls", methods: ["get"] }],
  idParam: "activeCallawareCallId",
  scope: "organisation",
  replicate: "E",
  sort: "startTime",
  fields: {
    type: option("Type of the matching rule.", ["endpoint-rule", "callaware-rule"], { readOnly: true }),
    startTime: timestamp("When the call began.", { readOnly: true }),
    endpointId: ref("Appliance that received the call event.", "endpoints", { readOnly: true, onDelete: "cascade" }),
    details: json("`{calledNumber, callingNumber, state, source, rules: [{id, name}]}`.", { readOnly: true }),
  },
});
