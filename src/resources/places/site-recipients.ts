import { many, ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Recipients of a site role at a site.
 * @source docs/decisions/0006-places.md; docs/decisions/0042-api-contract.md, `/v1/sites/{siteId}/recipients`
 */
export default defineResource({
  name: "site-recipients",
  doc: "The recipients at one site for messages to a site role.",
  paths: [{ at: "sites/{siteId}/recipients" }],
  idParam: "recipientId",
  scope: "parent",
  replicate: "B",
  unique: [["siteId", "siteRoleId"]],
  fields: {
    siteId: ref("The site.", "sites", { required: true, createOnly: true, onDelete: "cascade" }),
    siteRoleId: ref("The site role; at most once per site.", "site-roles", {
      required: true,
      embed: "siteRole",
      onDelete: "cascade",
    }),
    distributionListIds: many("Lists whose users receive messages.", "distribution-lists", {
      embed: "distributionLists",
      dependents: "site-role",
    }),
    userIds: many("Users who receive messages.", "users", { embed: "users" }),
    deviceGroupIds: many("Groups whose devices receive messages.", "device-groups", {
      embed: "deviceGroups",
      dependents: "site-role",
    }),
    areaOfInterestIds: many("Areas whose occupants receive messages.", "areas-of-interest", {
      embed: "areasOfInterest",
    }),
    collaborationGroupIds: many("Collaboration groups that receive messages.", "collaboration-groups", {
      embed: "collaborationGroups",
    }),
  },
});
