import { integer, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Replies to answers of a confirmation request.
 * @source docs/decisions/0016-notification-engine.md; docs/decisions/0042-api-contract.md
 */
export default defineResource({
  name: "dynamic-replies",
  doc: "A reply to recipients who give a certain answer.",
  paths: [{ at: "confirmation-requests/{confirmationRequestId}/dynamic-replies" }],
  idParam: "dynamicReplyId",
  scope: "parent",
  replicate: "B",
  fields: {
    confirmationRequestId: ref("Request the reply belongs to.", "confirmation-requests", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    optionLabel: text("Answer to reply to; one of the request's options.", { required: true, min: 1, max: 140 }),
    quota: integer("Number of confirmations that receive `first`."),
    first: text("Reply to the first `quota` confirmations."),
    rest: text("Reply to the confirmations beyond the quota."),
    every: text("Reply to every confirmation."),
  },
});
