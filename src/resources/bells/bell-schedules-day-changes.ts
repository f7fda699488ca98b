import { boolean, date, integer, json, many, option, ref, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** What can be done with a day. own choice: the words */
export const DAY_CHANGE_KINDS = [
  ...(["delay", "early-dismissal", "other-day", "no-bells", "mute", "mute-hours", "move-ring"] as const),
] as const;

/** Days that ring otherwise for once. @source bells.md, Running. own choice: all of it */
export default defineResource({
  name: "bell-schedules-day-changes",
  doc: "A change of some days of several bell schedules, made as exceptions that are over when the days are; deleting it takes it back.",
  paths: [{ at: "bell-schedules-day-changes", methods: ["get", "post", "delete"] }],
  idParam: "dayChangeId",
  scope: "organisation",
  domainField: "actingDomainId",
  replicate: "local",
  limit: { most: 3_500, until: "endsAt" },
  fields: {
    kind: option(
      "`delay`: all rings come `minutes` later; `early-dismissal`: the last ring of the day comes at `until`, others after it do not; `other-day`: the days ring as `ringListId` or the day `likeDate`; `no-bells`: nothing rings; `mute`: nothing rings from `from` on the first day until `until` on the last; `mute-hours`: nothing rings between `from` and `until` on each day; `move-ring`: the ring `entryId` of a ring list comes at `until`.",
      DAY_CHANGE_KINDS,
      { required: true, createOnly: true },
    ),
    startDate: date("First day.", { required: true, createOnly: true }),
    endDate: date("Last day; the first one when not given. At most 366 days.", { createOnly: true }),
    minutes: integer(
      "How much later all rings of a delay come; on a day that rings otherwise already, later than that: delays add up.",
      { createOnly: true, min: 1, max: 720, unit: "min" },
    ),
    from: text("Local time from which nothing rings, `HH:mm:ss`; midnight when not given.", {
      createOnly: true,
      max: 8,
    }),
    until: text(
      "Local time of the dismissal, or until which nothing rings, or at which a moved ring comes, `HH:mm:ss` or `24:00:00`.",
      {
        createOnly: true,
        max: 8,
      },
    ),
    ringListId: ref("How other days ring.", "ring-lists", { createOnly: true }),
    likeDate: date("The day of the same schedule as which other days ring.", { createOnly: true }),
    entryId: uuid("Which ring of its ring list is moved.", { createOnly: true }),
    description: text("Why; told by the exceptions.", { max: 250, createOnly: true }),
    bellScheduleIds: many("Schedules that are changed; required unless allBellSchedules is true.", "bell-schedules", {
      createOnly: true,
    }),
    allBellSchedules: boolean("Every schedule that the caller may change, and bellScheduleIds is ignored.", {
      createOnly: true,
      default: false,
    }),
    schedulesAffected: json("The schedules that ring otherwise by it: `[{id, name}]`.", {
      readOnly: true,
      maxBytes: 1_048_576,
      default: [],
    }),
    endsAt: timestamp("From then on its days are over everywhere, and it counts no more.", { readOnly: true }),
    actingDomainId: uuid("Domain that it was made in.", { readOnly: true }),
  },
});
