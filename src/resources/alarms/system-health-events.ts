import { computed, json, list, many, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentencesField } from "../sentence-field.ts";

const REASON = text("One reason.", { required: true, max: 10_000 });

/**
 * Changes of the health of appliances; the newest 10,000 are kept.
 * @source docs/decisions/0042-api-contract.md, `/v1/system-health-events`
 */
export default defineResource({
  name: "system-health-events",
  doc: "A change of the health of an appliance.",
  paths: [{ at: "system-health-events", methods: ["get"] }],
  idParam: "systemHealthEventId",
  scope: "organisation",
  replicate: "D",
  appendOnly: true,
  fields: {
    endpointId: ref("Appliance concerned.", "endpoints", { readOnly: true, onDelete: "cascade" }),
    endpointName: text("Name of the appliance at that time.", { readOnly: true }),
    status: option("New health status.", ["GREEN", "YELLOW", "RED"], { readOnly: true }),
    reasons: list("Current problems, most severe first.", REASON, { readOnly: true, default: [] }),
    reasonSentences: sentencesField("Problems"),
    event: json(
      "`redReasons` and `yellowReasons` after the change; `raised`, `cleared` and `all`: new, resolved and current problems, each as `{level, code, reason}`.",
      {
        readOnly: true,
        maxBytes: 1_048_576,
      },
    ),
    alarmIds: many("Alarms that monitor the changed condition.", "alarms", { readOnly: true }),
    alarmId: computed("First of these alarms.", "text", { nullable: true }),
  },
});
