import { computed, file, integer, option, text, uuid } from "../../schema/field.ts";

/** Files and links that people need in an incident: a plan's are copied to each of its incidents. @source digest */
export const INCIDENT_RESOURCE_FIELDS = {
  name: text("What people call it.", { required: true, min: 1, max: 140 }),
  type: option("What it is. own choice: a file may name where it comes from, too.", ["file", "hyperlink"], {
    required: true,
  }),
  hyperlink: text("Address, of a link.", { format: "url", max: 2_000 }),
  file: file("The file, of a file.", ["*/*"]),
  fileName: computed("The file's name; null without one.", "text", { nullable: true }),
  contentType: computed("The file's content type; null without one.", "text", { nullable: true }),
  size: computed("The file's size in bytes; 0 without one.", "integer"),
};

/** What a plan and an incident show of them with `includeResources`. */
export const INCIDENT_RESOURCES_FIELD = computed("Its files and links, in order of their creation.", "array", {
  when: "includeResources",
  of: {
    id: uuid("Its id.", { required: true }),
    name: text("What people call it.", { required: true, max: 140 }),
    type: text("What it is.", { required: true }),
    hyperlink: text("Address, of a link.", { max: 2_000 }),
    fileName: text("The file's name."),
    contentType: text("The file's content type."),
    size: integer("The file's size in bytes.", { required: true }),
  },
});

/** Most files and links of one plan, and of one incident. own choice */
export const MAX_INCIDENT_RESOURCES = 50;
