import { ref } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { SCIM_GROUP_LINK_FIELDS } from "../security/scim-group-link-fields.ts";

/**
 * Ties to groups of a directory outside; an item is addressed by the id of the group or its own.
 * @source docs/decisions/0042-api-contract.md, `/v1/distribution-lists/{distributionListId}/scim-groups`
 */
export default defineResource({
  name: "distribution-list-scim-groups",
  doc: "A link between a distribution list and a group of an external directory.",
  paths: [
    {
      at: "distribution-lists/{distributionListId}/scim-groups",
      methods: ["get", "post", "delete"],
      itemBy: "scimGroupId",
    },
  ],
  idParam: "scimGroupId",
  scope: "parent",
  replicate: "A",
  unique: [["distributionListId", "scimGroupId"]],
  fields: {
    distributionListId: ref("List that the members of the directory group belong to.", "distribution-lists", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    ...SCIM_GROUP_LINK_FIELDS,
  },
});
