import { boolean, json, many, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { RING_LIST_ENTRY_FIELDS } from "./bell-fields.ts";

/**
 * Rings of one type of day.
 * @source docs/decisions/0009-ring-lists-and-bell-schedules.md; docs/decisions/0042-api-contract.md, `/v1/ring-lists`
 */
export default defineResource({
  name: "ring-lists",
  doc: "The rings of one type of day: time, message and recipients of each.",
  paths: [{ at: "ring-lists" }],
  idParam: "ringListId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  clone: {},
  fields: {
    name: text("Name of the ring list.", { required: true, min: 1, max: 255, unique: true }),
    isShared: boolean("Visible in the domains below the ring list's domain.", { default: false }),
    description: text("Purpose.", { max: 255 }),
    entries: json(
      "Rings: `[{id, time, messageTemplateId, deviceGroupIds, distributionListIds}]`, `time` as local `HH:mm:ss`; the groups and lists of a ring replace the recipients of its message. At most 500. Returned in chronological order with `messageTemplate`, `deviceGroups` and `distributionLists`. A ring sent without `id` keeps the id of the ring at the same time.",
      { maxBytes: 1_048_576, default: [], items: RING_LIST_ENTRY_FIELDS },
    ),
    messageTemplateIds: many("Message templates in use; these cannot be deleted.", "message-templates", {
      readOnly: true,
      dependents: "ring-list",
      onDelete: "refuse",
    }),
    deviceGroupIds: many("Device groups in use; these cannot be deleted.", "device-groups", {
      readOnly: true,
      dependents: "ring-list",
      onDelete: "refuse",
    }),
    distributionListIds: many("Distribution lists in use; these cannot be deleted.", "distribution-lists", {
      readOnly: true,
      dependents: "ring-list",
      onDelete: "refuse",
    }),
  },
});
