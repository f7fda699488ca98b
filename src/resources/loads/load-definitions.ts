import { boolean, integer, internal, object, option, secret, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const column = (what: string) => text(`Column of ${what}.`, { max: 255 });

/** Import sources of users and lists. @source docs/decisions/0042-api-contract.md */
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
      "Default: `oneroster-api` with a url, `oneroster` if the path is a .zip file or a folder, otherwise `table`. `table`: a file with one line per person. `oneroster`: OneRoster 1.1 or 1.2 CSV files in a folder or a .zip, complete (bulk) or changes (delta) by its manifest.csv; people are added to a list for each of their schools and current classes. `oneroster-api`: the same from a OneRoster 1.1 or 1.2 REST service with OAuth 2.",
      ["table", "oneroster", "oneroster-api"],
      { default: "table" },
    ),
    path: text(
      "File or folder below `loads` in the data directory of the appliance; null for the last uploaded file.",
      { max: 1_000 },
    ),
    url: text(
      "Base URL of a OneRoster service with its version, such as `https://example.org/ims/oneroster/rostering/v1p2`.",
      { max: 1_000, format: "url" },
    ),
    tokenUrl: text("URL where the service gives OAuth 2 tokens for client credentials.", { max: 1_000, format: "url" }),
    clientId: text("OAuth 2 client id.", { max: 255 }),
    clientSecret: secret("OAuth 2 client secret; it is sent to tokenUrl only.", {
      boundTo: ["url", "tokenUrl", "clientId"],
    }),
    incremental: boolean(
      "Reads only records that a service changed since the last import (dateLastModified), and all of them once a week.",
      { default: false },
    ),
    mapping: object("Column names of a table.", {
      key: column("the unique, permanent key of a person; default: the email address"),
      name: column("names; default: `name`"),
      email: column("email addresses; default: `email`"),
      lists: column("list names, separated by semicolons; default: `lists`"),
      sms: column("mobile numbers; default: `sms`"),
      phone: column("telephone numbers; default: `phone`"),
    }),
    delimiter: option("Separator of cells; null detects it. A first line `sep=;` names it, too.", [
      ...["comma", "semicolon", "tab", "pipe"],
    ] as const),
    encoding: option("Encoding of the files; null detects it.", [
      ...["utf-8", "utf-16le", "utf-16be", "windows-1252"],
    ] as const),
    quote: option("Quotes that enclose cells; `none`: quotes are ordinary characters; null detects them.", [
      ...["double", "single", "none"],
    ] as const),
    contactDevices: boolean(
      "Registers the email addresses and telephone numbers of people as their devices. An address that several people share is always registered for those who cannot log in with it.",
      { default: false },
    ),
    schedule: text(
      "Import schedule, as a cron expression in the local time of the appliance; null for manual imports only.",
      {
        max: 140,
      },
    ),
    removalThreshold: integer(
      "Maximum percentage of the source's users, and of all its list memberships, that an import may remove. An import above the threshold stops and waits for confirmation.",
      { max: 100, default: 10, unit: "%" },
    ),
    listRemovalThreshold: integer(
      "Maximum percentage of the members of one list that an import may remove; the loss of a single member never stops it.",
      { max: 100, default: 50, unit: "%" },
    ),
    errorThreshold: integer(
      "Maximum percentage of lines with errors. They are reported and left out; an import above the threshold fails and changes nothing.",
      { max: 100, default: 50, unit: "%" },
    ),
    disabled: boolean("Suspends scheduled imports.", { default: false }),
    fileName: text("Name of the last uploaded file.", { readOnly: true }),
    uploadedAt: timestamp("When the file was uploaded.", { readOnly: true }),
    fileId: internal("SHA-256 of that file.", "text"),
  },
});
