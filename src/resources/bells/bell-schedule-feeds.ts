import { internal, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Addresses at which calendars follow a schedule. @source docs/decisions/0015-bell-engine.md */
export default defineResource({
  name: "bell-schedule-feeds",
  doc: "A calendar feed URL for the rings of a schedule. The URL contains its own token and stays valid until the feed is deleted.",
  paths: [{ at: "bell-schedules/{bellScheduleId}/feeds", methods: ["get", "post", "delete"] }],
  idParam: "feedId",
  scope: "parent",
  replicate: "local",
  limit: { most: 100, per: "bellScheduleId" },
  fields: {
    bellScheduleId: ref("Schedule of the feed.", "bell-schedules", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    name: text("Subscriber of the feed.", { required: true, createOnly: true, min: 1, max: 140 }),
    lastReadAt: timestamp("Last access, updated at most once per hour.", { readOnly: true }),
    tokenHash: internal("SHA-256 of the token in the URL, hex.", "text", { unique: true }),
  },
});
