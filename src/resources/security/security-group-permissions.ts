import { option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { PERMISSION_VERBS } from "./permission-verbs.ts";

/**
 * Grants to a group. @source decisions.md 3; service-api.md, Domain membership paths; digest
 * `/v1/security-groups/{securityGroupId}/permissions`
 */
export default defineResource({
  name: "security-group-permissions",
  doc: "Something that the members of a security group may do.",
  paths: [
    { at: "security-groups/{securityGroupId}/permissions" },
    { at: "domains/{domainId}/security-group-permissions" },
  ],
  idParam: "permissionId",
  scope: "parent",
  replicate: "A",
  fields: {
    securityGroupId: ref("Group that holds the grant.", "security-groups", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    domainId: ref(
      "Domain within which, with those below it, the grant holds; null for wherever a member may act. own choice: once made, it stays.",
      "domains",
      { createOnly: true, onDelete: "cascade" },
    ),
    verb: option("Operation that is allowed.", PERMISSION_VERBS, { required: true }),
    spec: text("Resources it is allowed on, such as `/users/*`; `*` stands for one segment of the path.", {
      required: true,
      min: 1,
      max: 1_000,
    }),
  },
});
