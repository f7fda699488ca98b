import { file, option, text } from "../../schema/field.ts";

/** Files and links that people need in an incident: a plan's are copied to each of its incidents. @source digest */
export const INCIDENT_RESOURCE_FIELDS = {
  name: text("What people call it.", { required: true, min: 1, max: 140 }),
  type: option("What it is.", ["file", "hyperlink"], { required: true }),
  hyperlink: text("Address, of a link.", { format: "url", max: 2_000 }),
  file: file("The file, of a file.", ["*/*"]),
};
