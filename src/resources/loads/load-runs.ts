import { boolean, integer, json, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const count = (what: string) => integer(what, { readOnly: true, default: 0 });

/** Loads that were made, newest 100 of each definition. */
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
    confirmed: boolean("The import may exceed the removal threshold of the source.", {
      createOnly: true,
      default: false,
    }),
    state: option(
      "`pending`: waiting; `running`: nothing has been changed yet; `applying`: changes are being applied and continue after a restart; `complete`; `failed`: nothing was changed; `stopped`: nothing was changed, confirmation is required.",
      ["pending", "running", "applying", "complete", "failed", "stopped"],
      { readOnly: true, default: "pending" },
    ),
    reason: text("Why it failed or stopped.", { readOnly: true, max: 1_000 }),
    errors: json("The first 100 errors: `[{line, message}]`.", { readOnly: true }),
    warnings: json("The first 100 warnings about skipped data: `[{line, message}]`.", { readOnly: true }),
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
