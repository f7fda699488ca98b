import { ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Members of directory groups. @source RFC 7643 §4.2 */
export default defineResource({
  name: "scim-group-members",
  doc: "A user's membership in a directory group.",
  paths: [{ at: "scim-groups/{scimGroupId}/members", methods: ["get", "post", "delete"] }],
  idParam: "memberId",
  scope: "parent",
  replicate: "A",
  unique: [["scimGroupId", "userId"]],
  fields: {
    scimGroupId: ref("The group.", "scim-groups", { required: true, createOnly: true, onDelete: "cascade" }),
    userId: ref("The user.", "users", {
      required: true,
      createOnly: true,
      embed: "user",
      onDelete: "cascade",
    }),
  },
});
