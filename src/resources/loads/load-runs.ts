import { boolean, integer, json, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField, sentencesField } from "../sentence-field.ts";

const count = (what: string) => integer(what, { readOnly: true, default: 0 });

/** Imports; the newest 100 of each definition are kept. */
export default defineResource({
  name: "load-runs",
  doc: "One import from a source and its result.",
  paths: [{ at: "load-definitions/{loadDefinitionId}/runs", methods: ["get", "post"] }],
  idParam: "loadRunId",
  scope: "parent",
  replicate: "local",
  sort: "-createdAt",
  fields: {
    loadDefinitionId: ref("Load definition of the import.", "load-definitions", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    dryRun: boolean("Dry run: validates and counts everything, stores nothing.", { createOnly: true, default: false }),
    confirmed: boolean(
      "The import may exceed the removal thresholds of the source, and goes on without a missing file.",
      {
        createOnly: true,
        default: false,
      },
    ),
    state: option(
      "`pending`: waiting; `running`: nothing has been changed yet; `applying`: changes are being applied and continue after a restart; `complete`; `failed`: nothing was changed; `stopped`: nothing was changed, confirmation is required.",
      ["pending", "running", "applying", "complete", "failed", "stopped"],
      { readOnly: true, default: "pending" },
    ),
    reason: text("Why it failed or stopped.", { readOnly: true, max: 1_000 }),
    reasonSentence: sentenceField("Reason", "reason"),
    phase: option(
      "What it is doing; null when it has ended. `comparing`: new rows are being created, invisibly; `checking`: dry run of changes.",
      ["waiting", "reading", "comparing", "checking", "applying"],
      { readOnly: true },
    ),
    percentage: integer("Progress of the phase; 0 while its extent is not known.", {
      ...{ readOnly: true, max: 100, unit: "%", default: 0 },
    }),
    waitingFor: text("The import or upload that it waits for, and how many more.", { readOnly: true }),
    waitingForSentence: sentenceField("What it waits for", "waitingFor"),
    files: json(
      "Files as they were read: `[{file, mode, delimiter, encoding, quote, columns, lines}]`; the definition can correct the format.",
      { readOnly: true },
    ),
    linesRead: count("Lines read, without headers."),
    linesWithErrors: count("Lines that were left out because of an error."),
    errors: json("The first 100 errors: `[{file, line, column, message}]`; line 0: no certain line.", {
      readOnly: true,
    }),
    warnings: json("The first 100 warnings about skipped data: `[{file, line, column, message}]`.", { readOnly: true }),
    errorSentences: sentencesField("Messages of the errors", { sentenceOf: "errors.message", nullable: true }),
    warningSentences: sentencesField("Messages of the warnings", { sentenceOf: "warnings.message", nullable: true }),
    peopleRead: count("People in the source."),
    usersCreated: count("Users created."),
    usersChanged: count("Users changed."),
    usersRemoved: count("Users removed."),
    listsCreated: count("Lists created."),
    listsRemoved: count("Lists removed."),
    subscriptionsCreated: count("Subscriptions created."),
    subscriptionsRemoved: count("Subscriptions removed."),
    startedAt: timestamp("Start time.", { readOnly: true }),
    endedAt: timestamp("End time.", { readOnly: true }),
  },
});
