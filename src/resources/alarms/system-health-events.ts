import { computed, json, list, many, option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

const REASON = text("One reason.", { required: true, max: 10_000 });

/**
 * How the health of appliances changed, the newest 10,000 changes.
 * @source digest `/v1/system-health-events`; own choice: a row for each change of the reasons
 */
export default defineResource({
  name: "system-health-events",
  doc: "The health of an appliance changed.",
  paths: [{ at: "system-health-events", methods: ["get"] }],
  idParam: "systemHealthEventId",
  scope: "organisation",
  replicate: "D",
  appendOnly: true,
  fields: {
    endpointId: ref("Appliance it is about.", "endpoints", { readOnly: true, onDelete: "cascade" }),
    endpointName: text("What it was called.", { readOnly: true }),
    status: option("Its health from then on.", ["GREEN", "YELLOW", "RED"], { readOnly: true }),
    reasons: list("What is wrong from then on, in words, the worst first.", REASON, { readOnly: true, default: [] }),
    event: json(
      "`redReasons` and `yellowReasons` from then on; `raised`, `cleared` and `all`: what is new, what is over and what is wrong, each as `{level, code, reason}`.",
      {
        readOnly: true,
        maxBytes: 1_048_576,
      },
    ),
    alarmIds: many("Alarms that watch what changed.", "alarms", { readOnly: true }),
    alarmId: computed("The first of them.", "text", { nullable: true }),
  },
});
