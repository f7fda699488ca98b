import { ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Quiet for a while, or for some reasons only, beside the switch `muted` of the alarm. own choice: all of it */
export default defineResource({
  name: "alarm-mutes",
  doc: "Actions of an alarm that are not taken: until a moment, at one appliance, or for some reasons only.",
  paths: [{ at: "alarms/{alarmId}/mutes" }],
  idParam: "muteId",
  scope: "organisation",
  replicate: "B",
  limit: { most: 100, per: "alarmId" },
  fields: {
    alarmId: ref("Alarm that is muted.", "alarms", { required: true, createOnly: true, onDelete: "cascade" }),
    until: timestamp("When it ends; null until it is deleted."),
    endpointId: ref("Appliance whose events are muted; null for all.", "endpoints", { onDelete: "cascade" }),
    reason: text(
      "Words that every reason of an event must hold for it to be muted, whatever the case; null for all events.",
      { min: 1 },
    ),
    note: text("Why it is muted."),
  },
});
