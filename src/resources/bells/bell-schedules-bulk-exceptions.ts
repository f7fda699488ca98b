import { boolean, date, json, many, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** One exception for several schedules. @source service-api.md, /v1/bell-schedules-bulk-exceptions; decisions.md 1 and 9; digest */
export default defineResource({
  name: "bell-schedules-bulk-exceptions",
  doc: "An exception that was put into several bell schedules at once; others in its way were shortened, split or removed.",
  paths: [{ at: "bell-schedules-bulk-exceptions", methods: ["post"] }],
  idParam: "bulkExceptionId",
  scope: "organisation",
  domainField: "actingDomainId",
  replicate: "local",
  fields: {
    startDate: date("First day.", { required: true, createOnly: true }),
    endDate: date("Last day.", { required: true, createOnly: true }),
    description: text("Why.", { max: 250, createOnly: true }),
    ringListId: ref("How these days ring; none for no bells.", "ring-lists", { createOnly: true }),
    bellScheduleIds: many("Schedules that get it; required unless allBellSchedules is true.", "bell-schedules", {
      createOnly: true,
    }),
    allBellSchedules: boolean("Every schedule that the caller may change gets it, and bellScheduleIds is ignored.", {
      createOnly: true,
      default: false,
    }),
    schedulesAffected: json("The schedules that ring on some of these days and got it: `[{id, name}]`.", {
      readOnly: true,
      maxBytes: 1_048_576,
      default: [],
    }),
    actingDomainId: uuid("Domain that it was made in.", { readOnly: true }),
  },
});
