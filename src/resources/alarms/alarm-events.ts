import { computed, internal, list, option, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { ALARM_STATUSES } from "./alarm-types.ts";

/** When alarms became active and OK again. @source service-api.md, Alarm event; decisions.md 7 and 13; digest `/v1/alarms/{alarmId}/events` */
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
    endpointId: ref("Appliance where it happened.", "endpoints", { readOnly: true }),
    endpointName: text("What it was called.", { readOnly: true }),
    reasons: list(
      "What was wrong, in words; of an OK event what is over.",
      text("One reason.", { required: true, max: 10_000 }),
      { readOnly: true, maxItems: 10_000, default: [] },
    ),
    event: computed("What it is about.", "object", {
      of: {
        scenarioId: uuid("Scenario whose start failed."),
        scenarioName: text("Its name."),
        reasons: list("As `reasons`.", text("One reason.", { required: true, max: 10_000 }), { required: true }),
      },
    }),
    scenario: internal("JSON `{id, name}` of the scenario it is about.", "text"),
  },
});
