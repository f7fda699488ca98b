import { computed, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Times at which devices are cleared. @source decisions.md 10; digest `/v1/clear-devices-schedules` */
export default defineResource({
  name: "clear-devices-schedules",
  doc: "Times at which the devices of the appliance are cleared of what they still show.",
  paths: [{ at: "clear-devices-schedules" }],
  idParam: "clearDevicesScheduleId",
  scope: "organisation",
  replicate: "B",
  fields: {
    name: text("What people call it.", { required: true, min: 1, max: 140 }),
    cronExpression: text("Quartz cron expression with seconds, in the appliance's zone.", {
      required: true,
      min: 1,
      max: 140,
    }),
    nextFireTime: computed("own choice: when they are cleared next; null when it is over.", "timestamp", {
      nullable: true,
    }),
    nextFireTimes: computed("own choice: the next times, five at most; given with includeNextFireTimes.", "array", {
      of: timestamp("One of them.", { required: true }),
      when: "includeNextFireTimes",
    }),
    syncId: computed("Replication marker; equal on both sides once the row is replicated.", "text", {
      nullable: true,
    }),
  },
});
