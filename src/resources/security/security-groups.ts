import { boolean, many, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Groups that carry permissions. @source decisions.md 3; digest `/v1/security-groups` */
export default defineResource({
  name: "security-groups",
  doc: "A group of users that share permissions.",
  paths: [{ at: "security-groups" }],
  idParam: "securityGroupId",
  scope: "domain",
  replicate: "A",
  clone: { children: ["security-group-permissions"] },
  fields: {
    name: text("What people call the group. own choice: a clone takes its permissions along, not its members.", {
      required: true,
      min: 1,
      max: 140,
    }),
    allowedMessageTemplateIds: many(
      "The only templates that members may send with; none named sets no bounds. own choice: somebody in several groups that name some may use all of them; members of super groups are not bound.",
      "message-templates",
      { maxItems: 3_500 },
    ),
    allowedScenarioIds: many("The only scenarios that members may start; as with templates.", "scenarios", {
      maxItems: 3_500,
    }),
    superGroup: boolean("Members may do everything; the last such group can't be deleted.", { default: false }),
  },
});
