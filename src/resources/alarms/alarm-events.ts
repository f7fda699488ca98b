import { computed, internal, list, option, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { sentencesField } from "../sentence-field.ts";
import { ALARM_STATUSES } from "./alarm-types.ts";

/**
 * Status changes of alarms.
 * @source docs/decisions/0007-scenarios.md; docs/decisions/0013-other-resources.md;
 * docs/decisions/0042-api-contract.md, `/v1/alarms/{alarmId}/events`
 */
export default defineResource({
  name: "alarm-events",
  doc: "An alarm entered a status at one appliance.",
  paths: [{ at: "alarms/{alarmId}/events", methods: ["get", "post"] }],
  idParam: "eventId",
  scope: "organisation",
  replicate: "D",
  fields: {
    alarmId: ref("Alarm it belongs to.", "alarms", { required: true, createOnly: true, onDelete: "cascade" }),
    status: option("Status that was entered.", ALARM_STATUSES, { required: true, createOnly: true }),
    endpointId: ref("Appliance where the alarm changed.", "endpoints", { readOnly: true }),
    endpointName: text("Name of the appliance at that time.", { readOnly: true }),
    reasons: list(
      "Problems as text; for an OK event, the problems that ended.",
      text("One reason.", { required: true, max: 10_000 }),
      { readOnly: true, maxItems: 10_000, default: [] },
    ),
    reasonSentences: sentencesField("Problems"),
    event: computed("Subject of the event.", "object", {
      of: {
        scenarioId: uuid("Scenario that failed to start."),
        scenarioName: text("Name."),
        reasons: list("Same as `reasons`.", text("One reason.", { required: true, max: 10_000 }), { required: true }),
      },
    }),
    scenario: internal("JSON `{id, name}` of the scenario concerned.", "text"),
  },
});
