import { ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Who is in which group of the directory. own choice: the path, as that of security groups' members. @source RFC 7643 §4.2 */
export default defineResource({
  name: "scim-group-members",
  doc: "A user's membership in a group of a directory outside.",
  paths: [{ at: "scim-groups/{scimGroupId}/members", methods: ["get", "post", "delete"] }],
  idParam: "memberId",
  scope: "parent",
  replicate: "A",
  unique: [["scimGroupId", "userId"]],
  fields: {
    scimGroupId: ref("Group the user is in.", "scim-groups", { required: true, createOnly: true, onDelete: "cascade" }),
    userId: ref("User in the group.", "users", {
      required: true,
      createOnly: true,
      embed: "user",
      onDelete: "cascade",
    }),
  },
});
