import { boolean, integer, internal, object, option, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const column = (what: string) => text(`Column that holds ${what}.`, { max: 255 });

/**
 * Where people and their lists come from. @source service-api.md, Domains (load-definitions: user loaders) and User
 * (loadSourceId); own choice: all fields, as the API description shows none
 */
export default defineResource({
  name: "load-definitions",
  doc: "A source outside that users and distribution lists are loaded from, again and again.",
  paths: [{ at: "load-definitions" }],
  idParam: "loadDefinitionId",
  scope: "domain",
  replicate: "local",
  limit: { most: 100 },
  fields: {
    name: text("What people call the source.", { required: true, min: 1, max: 140 }),
    type: option(
      "`table`: a file with a line for each person, tabs between its cells or, where its name ends in .csv, commas. `oneroster`: files of OneRoster 1.1 CSV in a folder or a .zip; people are put on a list for each of their schools and classes.",
      ["table", "oneroster"],
      { required: true },
    ),
    path: text(
      "File or folder below `loads` in the appliance's data directory; null for the file that was uploaded last.",
      { max: 1_000 },
    ),
    mapping: object("Columns of a table by what they hold.", {
      key: column("what tells people of the source apart and never changes; the mail address unless given"),
      name: column("names; `name` unless given"),
      email: column("mail addresses; `email` unless given"),
      lists: column("names of lists, with semicolons between them; `lists` unless given"),
    }),
    schedule: text("When it is loaded, as a cron expression in the appliance's local time; null for never by itself.", {
      max: 140,
    }),
    removalThreshold: integer(
      "Percentage of the source's users that a load may remove; one that would remove more is stopped and waits to be confirmed.",
      { max: 100, default: 10, unit: "%" },
    ),
    disabled: boolean("It is not loaded by itself.", { default: false }),
    fileName: text("What the file that was uploaded last is called.", { readOnly: true }),
    uploadedAt: timestamp("When it was uploaded.", { readOnly: true }),
    fileId: internal("SHA-256 of that file.", "text"),
  },
});
