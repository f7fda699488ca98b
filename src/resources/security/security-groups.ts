import { boolean, many, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Groups with permissions.
 * @source docs/decisions/0003-authentication.md; docs/decisions/0042-api-contract.md, `/v1/security-groups`
 */
export default defineResource({
  name: "security-groups",
  doc: "A group of users with common permissions.",
  paths: [{ at: "security-groups" }],
  idParam: "securityGroupId",
  scope: "domain",
  replicate: "A",
  clone: { children: ["security-group-permissions"] },
  fields: {
    name: text("Name of the group. A clone copies the permissions, not the members.", {
      required: true,
      min: 1,
      max: 140,
    }),
    allowedMessageTemplateIds: many(
      "Templates that members may send; an empty list means no restriction. Members of several restricted groups may use the templates of all of them; members of super groups are not restricted.",
      "message-templates",
      { maxItems: 3_500 },
    ),
    allowedScenarioIds: many("Scenarios that members may start; same rules as for templates.", "scenarios", {
      maxItems: 3_500,
    }),
    secondFactorRequired: boolean(
      "Members whose password is stored here need a second factor. Those without one set it up when they next log in; open sessions go on.",
      { default: false },
    ),
    superGroup: boolean("Members may do everything; the last such group cannot be deleted.", { default: false }),
  },
});
