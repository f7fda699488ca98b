import { option, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { PERMISSION_VERBS } from "./permission-verbs.ts";

/** Grants to one user. @source decisions.md 3; service-api.md, Domain membership paths; digest `/v1/users/{userId}/user-permissions` */
export default defineResource({
  name: "user-permissions",
  doc: "Something that one user may do beyond what groups allow.",
  paths: [{ at: "users/{userId}/user-permissions" }, { at: "domains/{domainId}/user-permissions" }],
  idParam: "userPermissionId",
  scope: "parent",
  replicate: "A",
  fields: {
    userId: ref("User that holds the grant.", "users", { required: true, createOnly: true, onDelete: "cascade" }),
    domainId: ref(
      "Domain within which, with those below it, the grant holds; null for wherever the user may act. own choice: once made, it stays.",
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
