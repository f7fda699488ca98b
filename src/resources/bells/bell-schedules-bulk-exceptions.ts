import { boolean, date, json, many, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * One exception for several schedules.
 * @source docs/decisions/0001-lists-and-paging.md; docs/decisions/0009-ring-lists-and-bell-schedules.md;
 * docs/decisions/0042-api-contract.md, `/v1/bell-schedules-bulk-exceptions`
 */
export default defineResource({
  name: "bell-schedules-bulk-exceptions",
  doc: "An exception added to several bell schedules at once. Overlapping exceptions are shortened, split or removed.",
  paths: [{ at: "bell-schedules-bulk-exceptions", methods: ["post"] }],
  idParam: "bulkExceptionId",
  scope: "organisation",
  domainField: "actingDomainId",
  replicate: "local",
  fields: {
    startDate: date("First day.", { required: true, createOnly: true }),
    endDate: date("Last day.", { required: true, createOnly: true }),
    description: text("Reason.", { max: 250, createOnly: true }),
    ringListId: ref("Ring list of these days; null for no bells.", "ring-lists", { createOnly: true }),
    bellScheduleIds: many(
      "Schedules that receive the exception; required unless allBellSchedules is true.",
      "bell-schedules",
      {
        createOnly: true,
      },
    ),
    allBellSchedules: boolean("Applies to every schedule that the caller may change; bellScheduleIds is ignored.", {
      createOnly: true,
      default: false,
    }),
    schedulesAffected: json("Schedules that ring on some of these days and were changed: `[{id, name}]`.", {
      readOnly: true,
      maxBytes: 1_048_576,
      default: [],
    }),
    actingDomainId: uuid("Domain in which it was created.", { readOnly: true }),
  },
});
