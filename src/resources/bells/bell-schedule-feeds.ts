import { internal, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Addresses at which calendars follow a schedule. @source bells.md, Proof. own choice: all of it */
export default defineResource({
  name: "bell-schedule-feeds",
  doc: "An address at which a calendar program follows the rings of a schedule; it holds a token of its own and is good until it is deleted.",
  paths: [{ at: "bell-schedules/{bellScheduleId}/feeds", methods: ["get", "post", "delete"] }],
  idParam: "feedId",
  scope: "parent",
  replicate: "local",
  limit: { most: 100, per: "bellScheduleId" },
  fields: {
    bellScheduleId: ref("Schedule that is followed.", "bell-schedules", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    name: text("Who follows it.", { required: true, createOnly: true, min: 1, max: 140 }),
    lastReadAt: timestamp("When it was last read, written at most once an hour.", { readOnly: true }),
    tokenHash: internal("SHA-256 of the token in its address, hex.", "text", { unique: true }),
  },
});
