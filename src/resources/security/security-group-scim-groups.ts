import { ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { SCIM_GROUP_LINK_FIELDS } from "./scim-group-link-fields.ts";

/**
 * Ties to groups of a directory outside; an item is addressed by the id of the group or its own.
 * @source docs/decisions/0042-api-contract.md, `/v1/security-groups/{securityGroupId}/scim-groups`
 */
export default defineResource({
  name: "security-group-scim-groups",
  doc: "A link between a security group and a group of an external directory.",
  paths: [
    { at: "security-groups/{securityGroupId}/scim-groups", methods: ["get", "post", "delete"], itemBy: "scimGroupId" },
  ],
  idParam: "scimGroupId",
  scope: "parent",
  replicate: "A",
  unique: [["securityGroupId", "scimGroupId"]],
  fields: {
    securityGroupId: ref("Security group that the members of the directory group belong to.", "security-groups", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    ...SCIM_GROUP_LINK_FIELDS,
  },
});
