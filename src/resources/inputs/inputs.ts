import { boolean, internal, json, option, secret, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentenceField } from "../sentence-field.ts";

/** Inputs reported by plugins within a week, and their results. @source docs/decisions/0018-plugin-api.md */
export default defineResource({
  name: "inputs",
  doc: "An external input and its result.",
  paths: [{ at: "inputs", methods: ["get"] }],
  idParam: "inputId",
  scope: "organisation",
  replicate: "local",
  appendOnly: true,
  indexes: [["outcome"]],
  fields: {
    plugin: text("Plugin that reported it.", { readOnly: true }),
    source: text("Name of the source.", { readOnly: true }),
    drill: boolean("Drill: everything that it started is a drill.", { readOnly: true, default: false }),
    details: json("Payload.", { maxBytes: 131_072, readOnly: true }),
    call: json("For a call: `{callId, state, calledNumber, callingNumber, via}`; otherwise null.", {
      readOnly: true,
    }),
    outcome: option(
      "`waiting` to be processed; `started`: at least one action started; `followed`: a step of a call in progress or its end; `nothing`: no rule matched; `throttled`: too soon after the last one; `late`: received too late to be useful; `failed`: none of the actions could be started.",
      ["waiting", "started", "followed", "nothing", "throttled", "late", "failed"],
      { readOnly: true, default: "waiting" },
    ),
    reason: text("Reason of the failure.", { readOnly: true, max: 1_000 }),
    reasonSentence: sentenceField("Reason", "reason"),
    notificationId: uuid("First notification that it started.", { readOnly: true }),
    handledAt: timestamp("When it was processed.", { readOnly: true }),
    dedupeKey: internal("Deduplication key of the plugin.", "text", { index: true }),
    callKey: internal("Id of the call that links its inputs; null if the input is not a call.", "text", {
      index: true,
    }),
    // Stored with the input only: it is compared with the rules when the input is processed.
    pin: secret("Digits that the caller entered.", { max: 64, readOnly: true }),
  },
});
