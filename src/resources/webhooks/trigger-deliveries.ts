import { integer, internal, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * The calls of a trigger, oldest first. Its id is the `webhook-id`, by which receivers recognise a repetition.
 * @source decisions.md 13, Triggers; own choice: the fields, and that the newest 1,000 delivered ones are kept
 */
export default defineResource({
  name: "trigger-deliveries",
  doc: "One write that a trigger tells: whether the call was taken, how often it was tried and what went wrong.",
  paths: [{ at: "triggers/{triggerId}/deliveries", methods: ["get"] }],
  idParam: "deliveryId",
  scope: "parent",
  replicate: "local",
  appendOnly: true,
  indexes: [["triggerId", "state"]],
  fields: {
    triggerId: ref("Trigger that tells it.", "triggers", { required: true, createOnly: true, onDelete: "cascade" }),
    event: text("What happened, as the receiver reads it in `type`: such as `users.updated`.", { readOnly: true }),
    resourceId: uuid("Row that was written.", { readOnly: true }),
    state: option(
      "`pending` waits for its call, `delivered` was answered with 2xx, `dead` was given up.",
      ["pending", "delivered", "dead"],
      { readOnly: true, default: "pending" },
    ),
    attempts: integer("Calls made so far.", { readOnly: true, default: 0 }),
    lastAttemptAt: timestamp("When it was last called.", { readOnly: true }),
    lastStatus: integer("HTTP status of the last answer; null when there was none.", { readOnly: true }),
    reason: text("What was wrong with the last call.", { readOnly: true, max: 1_000 }),
    nextAttemptAt: timestamp("When it is called next; null when it is not.", { readOnly: true }),
    deliveredAt: timestamp("When the receiver took it.", { readOnly: true }),
    entry: internal("Number of the audit entry that is told.", "integer"),
  },
});
