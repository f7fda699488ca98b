import { boolean, json, many, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Groups in other systems. @source docs/decisions/0042-api-contract.md, `/v1/collaboration-groups` */
export default defineResource({
  name: "collaboration-groups",
  doc: "A group, channel or conference of another system that an extension delivers messages to.",
  paths: [{ at: "collaboration-groups" }],
  idParam: "collaborationGroupId",
  scope: "domain",
  replicate: "B",
  fields: {
    name: text("Name of the group.", { required: true, min: 1, max: 140 }),
    isShared: boolean("Visible in the domains below the group's domain.", { default: false }),
    type: text("Device type of the collaboration extension that serves the group.", {
      required: true,
      createOnly: true,
      min: 1,
      max: 80,
    }),
    distributionListIds: many("Lists whose users belong to the group.", "distribution-lists", {
      embed: "distributionLists",
      dependents: "collaboration-group",
    }),
    userIds: many("Users who belong to the group.", "users", { embed: "users" }),
    properties: json("Properties by which the extension finds the group."),
  },
});
