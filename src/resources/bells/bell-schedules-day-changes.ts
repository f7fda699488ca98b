import { boolean, date, integer, json, many, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Types of day changes. */
export const DAY_CHANGE_KINDS = [
  ...(["delay", "early-dismissal", "other-day", "no-bells", "mute", "mute-hours", "move-ring"] as const),
] as const;

/** Days that ring otherwise for once. @source docs/decisions/0015-bell-engine.md */
export default defineResource({
  name: "bell-schedules-day-changes",
  doc: "A change of some days of several bell schedules, stored as exceptions that end with these days. Deleting it reverts the change.",
  paths: [{ at: "bell-schedules-day-changes", methods: ["get", "post", "delete"] }],
  idParam: "dayChangeId",
  scope: "organisation",
  domainField: "actingDomainId",
  replicate: "local",
  limit: { most: 3_500, until: "endsAt" },
  fields: {
    kind: option(
      "`delay`: all rings are `minutes` later; `early-dismissal`: the last ring of the day moves to `until` and later rings are dropped; `other-day`: the days use the ring list `ringListId` or that of the day `likeDate`; `no-bells`: no rings; `mute`: no rings from `from` on the first day until `until` on the last; `mute-hours`: no rings between `from` and `until` on each day; `move-ring`: the ring `entryId` of a ring list moves to `until`.",
      DAY_CHANGE_KINDS,
      { required: true, createOnly: true },
    ),
    startDate: date("First day.", { required: true, createOnly: true }),
    endDate: date("Last day; default: the first day. At most 366 days.", { createOnly: true }),
    minutes: integer("Delay of all rings. Delays of the same day add up.", {
      createOnly: true,
      min: 1,
      max: 720,
      unit: "min",
    }),
    from: text("Local time at which muting starts, `HH:mm:ss`; default: midnight.", {
      createOnly: true,
      max: 8,
    }),
    until: text("Local time of the dismissal, of the end of muting, or of a moved ring, `HH:mm:ss` or `24:00:00`.", {
      createOnly: true,
      max: 8,
    }),
    ringListId: ref("Ring list for `other-day`.", "ring-lists", { createOnly: true }),
    likeDate: date("Day of the same schedule whose rings are used for `other-day`.", { createOnly: true }),
    entryId: uuid("Id of the ring to move.", { createOnly: true }),
    description: text("Reason; copied to the exceptions.", { max: 250, createOnly: true }),
    bellScheduleIds: many("Schedules to change; required unless allBellSchedules is true.", "bell-schedules", {
      createOnly: true,
    }),
    allBellSchedules: boolean("Changes every schedule that the caller may change; bellScheduleIds is ignored.", {
      createOnly: true,
      default: false,
    }),
    schedulesAffected: json("Schedules whose rings it changes: `[{id, name}]`.", {
      readOnly: true,
      maxBytes: 1_048_576,
      default: [],
    }),
    endsAt: timestamp(
      "Time at which its days are over in every time zone; it no longer counts against the limit afterwards.",
      { readOnly: true },
    ),
    actingDomainId: uuid("Domain in which it was created.", { readOnly: true }),
  },
});
