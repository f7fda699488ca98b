import { option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { PERMISSION_VERBS } from "./permission-verbs.ts";

/**
 * Grants to one user.
 * @source docs/decisions/0003-authentication.md; docs/decisions/0042-api-contract.md,
 * `/v1/users/{userId}/user-permissions`
 */
export default defineResource({
  name: "user-permissions",
  doc: "A permission of one user in addition to those of groups.",
  paths: [{ at: "users/{userId}/user-permissions" }, { at: "domains/{domainId}/user-permissions" }],
  idParam: "userPermissionId",
  scope: "parent",
  replicate: "A",
  fields: {
    userId: ref("User who has the permission.", "users", { required: true, createOnly: true, onDelete: "cascade" }),
    domainId: ref(
      "Domain to which the permission is limited, with its child domains; null for all domains of the user. Cannot be changed.",
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
