import { computed, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Schedules for clearing displays.
 * @source docs/decisions/0010-scheduled-notifications.md; docs/decisions/0042-api-contract.md,
 * `/v1/clear-devices-schedules`
 */
export default defineResource({
  name: "clear-devices-schedules",
  doc: "Times at which the displays of the appliance's devices are cleared.",
  paths: [{ at: "clear-devices-schedules" }],
  idParam: "clearDevicesScheduleId",
  scope: "organisation",
  replicate: "B",
  fields: {
    name: text("Name.", { required: true, min: 1, max: 140 }),
    cronExpression: text("Quartz cron expression with seconds, in the time zone of the appliance.", {
      required: true,
      min: 1,
      max: 140,
    }),
    nextFireTime: computed("Next time the displays are cleared; null if there is none.", "timestamp", {
      nullable: true,
    }),
    nextLocalTime: computed(
      "nextFireTime as local time of the schedule, with offset: 2026-12-01T08:00:00-07:00.",
      "text",
      {
        nullable: true,
      },
    ),
    nextLocalTimes: computed("nextFireTimes as local times of the schedule, with offset.", "array", {
      of: text("One of these times.", { required: true }),
      when: "includeNextFireTimes",
    }),
    nextFireTimes: computed("The next times, at most five; returned with includeNextFireTimes.", "array", {
      of: timestamp("One of these times.", { required: true }),
      when: "includeNextFireTimes",
    }),
    syncId: computed("Replication marker; equal on both sides once the row has been replicated.", "text", {
      nullable: true,
    }),
  },
});
