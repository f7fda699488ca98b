import { computed, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Opt-outs by template. Created through a received message, so that users need no access to the templates of a
 * domain; revoked by deletion.
 */
export default defineResource({
  name: "opt-outs",
  doc: "An opt-out of a user from further messages of a template that allows it.",
  paths: [
    { at: "users/{userId}/opt-outs", methods: ["get", "delete"] },
    { at: "message-templates/{messageTemplateId}/opt-outs", methods: ["get", "delete"] },
  ],
  idParam: "optOutId",
  scope: "parent",
  visibilityReferences: ["userId"],
  replicate: "B",
  unique: [["userId", "messageTemplateId"]],
  fields: {
    userId: ref("User who opted out.", "users", {
      required: true,
      createOnly: true,
      embed: "user",
      onDelete: "cascade",
    }),
    messageTemplateId: ref("Template whose messages the user no longer receives.", "message-templates", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    subject: text("Subject of the message with which the user opted out.", { readOnly: true, max: 255 }),
    holds: computed("Whether the opt-out is in effect; false while `optOut` of the template is false.", "boolean"),
  },
});
