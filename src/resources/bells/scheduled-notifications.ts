import { boolean, computed, many, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { TIME_ZONES } from "./time-zones.ts";

/** Messages sent again and again. @source decisions.md 10; digest `/v1/scheduled-notifications` */
export default defineResource({
  name: "scheduled-notifications",
  doc: "A message that is sent at the times of a rule.",
  paths: [{ at: "scheduled-notifications" }],
  idParam: "scheduledNotificationId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  clone: {},
  fields: {
    name: text("What people call it.", { required: true, min: 1, max: 50 }),
    messageTemplateId: ref("Message that is sent. own choice: it can't be deleted while it is.", "message-templates", {
      required: true,
      embed: "messageTemplate",
      dependents: "scheduled-notification",
      onDelete: "refuse",
    }),
    schedule: text(
      "Quartz cron expression with seconds (`0 30 7 ? * MON-FRI`), at most 256 characters; own choice: or RFC 5545 lines (DTSTART, RRULE, EXDATE), at most 4000.",
      { required: true, min: 1, max: 4_000 },
    ),
    timeZone: option("Zone in which its times are local.", TIME_ZONES, { required: true }),
    deviceGroupIds: many("Groups whose devices get it, instead of the message's own recipients.", "device-groups", {
      embed: "deviceGroups",
      dependents: "scheduled-notification",
      onDelete: "refuse",
    }),
    distributionListIds: many(
      "Lists whose users get it, instead of the message's own recipients.",
      "distribution-lists",
      {
        embed: "distributionLists",
        dependents: "scheduled-notification",
        onDelete: "refuse",
      },
    ),
    disabled: boolean("It is not sent until it is enabled again.", { default: false }),
    nextFireTime: computed("When it is sent next; null when disabled or over.", "timestamp", { nullable: true }),
    nextFireTimes: computed("own choice: the next times, five at most; given with includeNextFireTimes.", "array", {
      of: timestamp("One of them.", { required: true }),
      when: "includeNextFireTimes",
    }),
    syncId: computed("Replication marker; equal on both sides once the row is replicated.", "text", {
      nullable: true,
    }),
  },
});
