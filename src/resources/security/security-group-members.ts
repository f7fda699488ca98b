import { ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Members of security groups, from both sides.
 * @source docs/decisions/0042-api-contract.md, `/v1/security-groups/{securityGroupId}/members`,
 * `/v1/users/{userId}/security-groups`
 */
export default defineResource({
  name: "security-group-members",
  doc: "A user's membership in a security group.",
  paths: [
    { at: "security-groups/{securityGroupId}/members", methods: ["get", "post", "delete"] },
    { at: "users/{userId}/security-groups", methods: ["get", "post", "delete"], itemBy: "securityGroupId" },
  ],
  idParam: "memberId",
  scope: "parent",
  replicate: "A",
  unique: [["securityGroupId", "userId"]],
  fields: {
    securityGroupId: ref("The group.", "security-groups", {
      required: true,
      createOnly: true,
      embed: "securityGroup",
      onDelete: "cascade",
    }),
    userId: ref("The user.", "users", {
      required: true,
      createOnly: true,
      embed: "user",
      onDelete: "cascade",
    }),
  },
});
