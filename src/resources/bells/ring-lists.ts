import { boolean, json, many, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** The rings of one kind of day. @source service-api.md, Domain membership paths; decisions.md 9; digest `/v1/ring-lists` */
export default defineResource({
  name: "ring-lists",
  doc: "The rings of one kind of day: at which time which message goes to whom.",
  paths: [{ at: "ring-lists" }],
  idParam: "ringListId",
  scope: "domain",
  replicate: "B",
  limit: { most: 3_500 },
  clone: {},
  fields: {
    name: text("What people call the kind of day.", { required: true, min: 1, max: 255, unique: true }),
    isShared: boolean("Domains below the ring list's own see it too.", { default: false }),
    description: text("When it is used.", { max: 255 }),
    entries: json(
      "Rings: `[{id, time, messageTemplateId, deviceGroupIds, distributionListIds}]`, `time` as local `HH:mm:ss`; the groups and lists of a ring replace the recipients of its message. Read in order of time, with `messageTemplate`, `deviceGroups` and `distributionLists`. own choice: at most 500; a ring sent without `id` keeps the one it had at the same time.",
      { maxBytes: 1_048_576, default: [] },
    ),
    messageTemplateIds: many(
      "own choice: messages of its rings, which can't be deleted while they are.",
      "message-templates",
      {
        readOnly: true,
        dependents: "ring-list",
        onDelete: "refuse",
      },
    ),
    deviceGroupIds: many("own choice: groups of its rings, which can't be deleted while they are.", "device-groups", {
      readOnly: true,
      dependents: "ring-list",
      onDelete: "refuse",
    }),
    distributionListIds: many(
      "own choice: lists of its rings, which can't be deleted while they are.",
      "distribution-lists",
      {
        readOnly: true,
        dependents: "ring-list",
        onDelete: "refuse",
      },
    ),
  },
});
