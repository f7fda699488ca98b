import { many, ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Who plays a role at a site. @source decisions.md 6; digest `/v1/sites/{siteId}/recipients` */
export default defineResource({
  name: "site-recipients",
  doc: "Who is reached at one site when a message goes to a role.",
  paths: [{ at: "sites/{siteId}/recipients" }],
  idParam: "recipientId",
  scope: "parent",
  replicate: "B",
  unique: [["siteId", "siteRoleId"]],
  fields: {
    siteId: ref("Site they are at.", "sites", { required: true, createOnly: true, onDelete: "cascade" }),
    siteRoleId: ref("Role they play. own choice: once a site.", "site-roles", {
      required: true,
      embed: "siteRole",
      onDelete: "cascade",
    }),
    distributionListIds: many("Lists whose users are reached.", "distribution-lists", {
      embed: "distributionLists",
      dependents: "site-role",
    }),
    userIds: many("Users who are reached.", "users", { embed: "users" }),
    deviceGroupIds: many("Groups whose devices are reached.", "device-groups", {
      embed: "deviceGroups",
      dependents: "site-role",
    }),
    areaOfInterestIds: many("Areas; whoever is inside is reached.", "areas-of-interest", { embed: "areasOfInterest" }),
    collaborationGroupIds: many("Chat groups that are reached.", "collaboration-groups", {
      embed: "collaborationGroups",
    }),
  },
});
