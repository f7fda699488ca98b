import { boolean, internal, json, option, secret, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Everything that plugins told for a week, and what followed. @source interfaces.md, The plugin's door (`trigger`); own
 * choice: that it is listed, and the fields
 */
export default defineResource({
  name: "inputs",
  doc: "Something that came in from outside, and what it started.",
  paths: [{ at: "inputs", methods: ["get"] }],
  idParam: "inputId",
  scope: "organisation",
  replicate: "local",
  appendOnly: true,
  indexes: [["outcome"]],
  fields: {
    plugin: text("Plugin that told it.", { readOnly: true }),
    source: text("What the source calls itself.", { readOnly: true }),
    drill: boolean("It is only for exercise: what it started are drills.", { readOnly: true, default: false }),
    details: json("What it said.", { maxBytes: 131_072, readOnly: true }),
    call: json("Of a call: `{callId, state, calledNumber, callingNumber, via}`; null for what is none.", {
      readOnly: true,
    }),
    outcome: option(
      "`waiting` for its turn, `started` something, `followed`: a step of a call that goes on or ended, meant `nothing` to any rule, `throttled`: it came too soon after the last, `late`: it was found too late to be of use, `failed`: nothing that it should start could be started.",
      ["waiting", "started", "followed", "nothing", "throttled", "late", "failed"],
      { readOnly: true, default: "waiting" },
    ),
    reason: text("What went wrong, in words.", { readOnly: true, max: 1_000 }),
    notificationId: uuid("First message that it started.", { readOnly: true }),
    handledAt: timestamp("When that was decided.", { readOnly: true }),
    dedupeKey: internal("Key under which the plugin knows the event.", "text", { index: true }),
    callKey: internal("Id of the call by which all inputs about it are found; null for what is no call.", "text", {
      index: true,
    }),
    // Stored with its input alone: rules compare it when the input has its turn.
    pin: secret("Digits that the caller entered.", { max: 64, readOnly: true }),
  },
});
