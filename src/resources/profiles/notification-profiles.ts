import { boolean, computed, json, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** How messages are shown and played, channel by channel. @source decisions.md 8; digest `/v1/notification-profiles` */
export default defineResource({
  name: "notification-profiles",
  doc: "Settings per extension that messages are sent with.",
  paths: [{ at: "notification-profiles" }],
  idParam: "notificationProfileId",
  scope: "domain",
  replicate: "B",
  clone: {},
  fields: {
    name: text("What people call the profile.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Domains below the profile's own see it too.", { default: false }),
    default: boolean("It holds where a template names none; `init` makes the one.", { readOnly: true, default: false }),
    settings: json("Settings: `[{id (of the extension), disabled, value}]`, checked by each extension.", {
      maxBytes: 262_144,
      default: [],
    }),
    messageTemplates: computed("Templates sent with it, by name; returned with includeMessageTemplates.", "array", {
      of: { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }) },
      when: "includeMessageTemplates",
    }),
  },
});
