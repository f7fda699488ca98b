import { ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Temporary or partial mutes, in addition to the field `muted` of the alarm. */
export default defineResource({
  name: "alarm-mutes",
  doc: "Suppresses the actions of an alarm: until a given time, for one appliance, or for some reasons only.",
  paths: [{ at: "alarms/{alarmId}/mutes" }],
  idParam: "muteId",
  scope: "organisation",
  replicate: "B",
  limit: { most: 100, per: "alarmId" },
  fields: {
    alarmId: ref("Alarm that is muted.", "alarms", { required: true, createOnly: true, onDelete: "cascade" }),
    until: timestamp("End of the mute; null if it lasts until deleted."),
    endpointId: ref("Appliance whose events are muted; null for all.", "endpoints", { onDelete: "cascade" }),
    reason: text(
      "Text that every reason of an event must contain for the event to be muted (case-insensitive); null for all events.",
      { min: 1 },
    ),
    note: text("Reason for the mute."),
  },
});
