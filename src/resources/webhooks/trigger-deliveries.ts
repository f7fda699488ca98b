import { integer, internal, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";

/**
 * Deliveries of a trigger, oldest first. The id is the `webhook-id` by which receivers detect repetitions; the newest
 * 1,000 finished ones are kept.
 * @source docs/decisions/0013-other-resources.md, Triggers
 */
export default defineResource({
  name: "trigger-deliveries",
  doc: "One webhook call of a trigger: state, attempts and the last error.",
  paths: [{ at: "triggers/{triggerId}/deliveries", methods: ["get"] }],
  idParam: "deliveryId",
  scope: "parent",
  replicate: "local",
  appendOnly: true,
  indexes: [["triggerId", "state"]],
  partialIndexes: { pending: { fields: ["state"], where: "state = 'pending'" } },
  fields: {
    triggerId: ref("The trigger.", "triggers", { required: true, createOnly: true, onDelete: "cascade" }),
    event: text("Event, sent to the receiver as `type`, such as `users.updated`.", { readOnly: true }),
    resourceId: uuid("Id of the changed row.", { readOnly: true }),
    state: option(
      "`pending`: waiting; `delivered`: answered with 2xx; `dead`: failed, retries exhausted.",
      ["pending", "delivered", "dead"],
      { readOnly: true, default: "pending" },
    ),
    attempts: integer("Attempts so far.", { readOnly: true, default: 0 }),
    lastAttemptAt: timestamp("Time of the last attempt.", { readOnly: true }),
    lastStatus: integer("HTTP status of the last response; null without one.", { readOnly: true }),
    reason: text("Error of the last attempt.", { readOnly: true, max: 1_000 }),
    reasonSentence: sentenceField("Error", "reason"),
    nextAttemptAt: timestamp("Time of the next attempt; null if there is none.", { readOnly: true }),
    deliveredAt: timestamp("When the receiver accepted it.", { readOnly: true }),
    entry: internal("Number of the audit entry.", "integer"),
  },
});
