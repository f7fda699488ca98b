import { boolean, integer, internal, object, option, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const column = (what: string) => text(`Column of ${what}.`, { max: 255 });

/** Where people and their lists come from. @source docs/decisions/0042-api-contract.md */
export default defineResource({
  name: "load-definitions",
  doc: "An external source from which users and distribution lists are imported regularly.",
  paths: [{ at: "load-definitions" }],
  idParam: "loadDefinitionId",
  scope: "domain",
  replicate: "local",
  limit: { most: 100 },
  fields: {
    name: text("Name of the source.", { required: true, min: 1, max: 140 }),
    type: option(
      "`table`: a file with one line per person, tab-separated or, if its name ends in .csv, comma-separated. `oneroster`: OneRoster 1.1 CSV files in a folder or a .zip; people are added to a list for each of their schools and classes.",
      ["table", "oneroster"],
      { required: true },
    ),
    path: text(
      "File or folder below `loads` in the data directory of the appliance; null for the last uploaded file.",
      { max: 1_000 },
    ),
    mapping: object("Column names of a table.", {
      key: column("the unique, permanent key of a person; default: the email address"),
      name: column("names; default: `name`"),
      email: column("email addresses; default: `email`"),
      lists: column("list names, separated by semicolons; default: `lists`"),
    }),
    schedule: text(
      "Import schedule, as a cron expression in the local time of the appliance; null for manual imports only.",
      {
        max: 140,
      },
    ),
    removalThreshold: integer(
      "Maximum percentage of the source's users that an import may remove. An import above the threshold stops and waits for confirmation.",
      { max: 100, default: 10, unit: "%" },
    ),
    disabled: boolean("Suspends scheduled imports.", { default: false }),
    fileName: text("Name of the last uploaded file.", { readOnly: true }),
    uploadedAt: timestamp("When the file was uploaded.", { readOnly: true }),
    fileId: internal("SHA-256 of that file.", "text"),
  },
});
