import { computed, file, integer, option, text, uuid } from "../../schema/field.ts";

/**
 * Files and links that people need in an incident: a plan's are copied to each of its incidents.
 * @source docs/decisions/0042-api-contract.md
 */
export const INCIDENT_RESOURCE_FIELDS = {
  name: text("Name.", { required: true, min: 1, max: 140 }),
  type: option("Type. A file may also have a hyperlink to its source.", ["file", "hyperlink"], {
    required: true,
  }),
  hyperlink: text("URL of the link.", { format: "url", max: 2_000 }),
  file: file("The file, for type file.", ["*/*"]),
  fileName: computed("File name; null without a file.", "text", { nullable: true }),
  contentType: computed("Content type of the file; null without a file.", "text", { nullable: true }),
  size: computed("Size of the file in bytes; 0 without a file.", "integer"),
};

/** Files and links in the representation of a plan or incident with `includeResources`. */
export const INCIDENT_RESOURCES_FIELD = computed("Files and links, in order of creation.", "array", {
  when: "includeResources",
  of: {
    id: uuid("Its id.", { required: true }),
    name: text("Name.", { required: true, max: 140 }),
    type: text("Type: file or hyperlink.", { required: true }),
    hyperlink: text("URL of the link.", { max: 2_000 }),
    fileName: text("The file's name."),
    contentType: text("The file's content type."),
    size: integer("The file's size in bytes.", { required: true }),
  },
});

/** Most files and links of one plan, and of one incident. */
export const MAX_INCIDENT_RESOURCES = 50;
