import { boolean, integer, json, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const count = (what: string) => integer(what, { readOnly: true, default: 0 });

/** Loads that were made, newest 100 of each definition. own choice: all of it */
export default defineResource({
  name: "load-runs",
  doc: "One load from a source: what it did, or why it did nothing.",
  paths: [{ at: "load-definitions/{loadDefinitionId}/runs", methods: ["get", "post"] }],
  idParam: "loadRunId",
  scope: "parent",
  replicate: "local",
  sort: "-createdAt",
  fields: {
    loadDefinitionId: ref("Source it loads from.", "load-definitions", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    dryRun: boolean("Everything is tried and counted, and nothing kept.", { createOnly: true, default: false }),
    confirmed: boolean("It may remove more users than the source's threshold says.", {
      createOnly: true,
      default: false,
    }),
    state: option(
      "`pending` waits for its turn, `running` changed nothing yet, `applying` is decided and goes on after a restart, `complete` is done, `failed` changed nothing, `stopped` changed nothing and waits for one that is confirmed.",
      ["pending", "running", "applying", "complete", "failed", "stopped"],
      { readOnly: true, default: "pending" },
    ),
    reason: text("Why it failed or stopped.", { readOnly: true, max: 1_000 }),
    errors: json("The first 100 faults: `[{line, message}]`.", { readOnly: true }),
    warnings: json("The first 100 things of a table that were passed over: `[{line, message}]`.", { readOnly: true }),
    peopleRead: count("People that the source has."),
    usersCreated: count("Users made."),
    usersChanged: count("Users changed."),
    usersRemoved: count("Users removed."),
    listsCreated: count("Lists made."),
    listsRemoved: count("Lists removed."),
    subscriptionsCreated: count("Places on lists made."),
    subscriptionsRemoved: count("Places on lists removed."),
    startedAt: timestamp("When it began.", { readOnly: true }),
    endedAt: timestamp("When it ended.", { readOnly: true }),
  },
});
