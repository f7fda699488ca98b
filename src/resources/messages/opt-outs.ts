import { computed, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Who has declined the messages of which template. own choice: declined by a message that somebody got, so that nobody need
 * see the templates of a domain; taken back by its deletion.
 */
export default defineResource({
  name: "opt-outs",
  doc: "A user's wish to get no further messages of a template that lets its recipients decline.",
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
    userId: ref("Who has declined.", "users", {
      required: true,
      createOnly: true,
      embed: "user",
      onDelete: "cascade",
    }),
    messageTemplateId: ref("Template whose messages the user is left out of.", "message-templates", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    subject: text("First line of the message by which the user declined.", { readOnly: true, max: 255 }),
    holds: computed(
      "Whether it is heeded. own choice: false while the template's `optOut` is false; it holds again with that.",
      "boolean",
    ),
  },
});
