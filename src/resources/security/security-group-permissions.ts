import { option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { PERMISSION_VERBS } from "./permission-verbs.ts";

/**
 * Grants to a group.
 * @source docs/decisions/0003-authentication.md; docs/decisions/0042-api-contract.md,
 * `/v1/security-groups/{securityGroupId}/permissions`
 */
export default defineResource({
  name: "security-group-permissions",
  doc: "A permission of the members of a security group.",
  paths: [
    { at: "security-groups/{securityGroupId}/permissions" },
    { at: "domains/{domainId}/security-group-permissions" },
  ],
  idParam: "permissionId",
  scope: "parent",
  replicate: "A",
  fields: {
    securityGroupId: ref("Group that has the permission.", "security-groups", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    domainId: ref(
      "Domain to which the permission is limited, with its child domains; null for all domains of the member. Cannot be changed.",
      "domains",
      { createOnly: true, onDelete: "cascade" },
    ),
    verb: option("Allowed operation.", PERMISSION_VERBS, { required: true }),
    spec: text("Path of the resources, such as `/users/*`; `*` matches one path segment.", {
      required: true,
      min: 1,
      max: 1_000,
    }),
  },
});
