import { boolean, computed, many, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { LOST_REFERENCES, lostReferencesField } from "../lost-references.ts";
import { TIME_ZONES } from "./time-zones.ts";
import { ZONES_OF_WINDOWS_NAMES } from "./windows-zones.ts";

/**
 * Recurring messages.
 * @source docs/decisions/0010-scheduled-notifications.md; docs/decisions/0042-api-contract.md,
 * `/v1/scheduled-notifications`
 */
export default defineResource({
  name: "scheduled-notifications",
  doc: "A message that is sent at scheduled times.",
  paths: [{ at: "scheduled-notifications" }],
  idParam: "scheduledNotificationId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  clone: {},
  fields: {
    name: text("Name.", { required: true, min: 1, max: 50 }),
    messageTemplateId: ref("Message that is sent; it cannot be deleted while it is in use.", "message-templates", {
      required: true,
      embed: "messageTemplate",
      dependents: "scheduled-notification",
      onDelete: "refuse",
    }),
    schedule: text(
      "Quartz cron expression with seconds (`0 30 7 ? * MON-FRI`), at most 256 characters, or RFC 5545 lines (DTSTART, RRULE, EXDATE), at most 4000 characters.",
      { required: true, min: 1, max: 4_000 },
    ),
    timeZone: option("Time zone of the schedule.", TIME_ZONES, { required: true, otherNames: ZONES_OF_WINDOWS_NAMES }),
    deviceGroupIds: many("Groups whose devices receive it; replaces the recipients of the message.", "device-groups", {
      embed: "deviceGroups",
      dependents: "scheduled-notification",
      onDelete: "refuse",
      lostIn: LOST_REFERENCES,
    }),
    distributionListIds: many(
      "Lists whose users receive it; replaces the recipients of the message.",
      "distribution-lists",
      {
        embed: "distributionLists",
        dependents: "scheduled-notification",
        onDelete: "refuse",
        lostIn: LOST_REFERENCES,
      },
    ),
    [LOST_REFERENCES]: lostReferencesField("the message reaches no one, instead of the recipients of the template"),
    disabled: boolean("Suspends the schedule.", { default: false }),
    nextFireTime: computed("Next time it is sent; null when disabled or over.", "timestamp", { nullable: true }),
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
