import { boolean, computed, json, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Presentation and playback settings per channel.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0042-api-contract.md,
 * `/v1/notification-profiles`
 */
export default defineResource({
  name: "notification-profiles",
  doc: "Settings per extension, used when messages are sent.",
  paths: [{ at: "notification-profiles" }],
  idParam: "notificationProfileId",
  scope: "domain",
  replicate: "B",
  clone: {},
  fields: {
    name: text("Name of the profile.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Visible in the domains below the profile's domain.", { default: false }),
    default: boolean("Default profile for templates without one; created by `init`.", {
      readOnly: true,
      default: false,
    }),
    settings: json(
      "Settings: `[{id, disabled, value}]`, where id is that of the extension; validated by each extension. Also accepted as an object by extension id, of `{disabled, value}` or of the values themselves.",
      {
        maxBytes: 262_144,
        default: [],
      },
    ),
    messageTemplates: computed(
      "Templates that use the profile, by name; returned with includeMessageTemplates.",
      "array",
      {
        of: { id: uuid("Id.", { required: true }), name: text("Name.", { required: true }) },
        when: "includeMessageTemplates",
      },
    ),
  },
});
