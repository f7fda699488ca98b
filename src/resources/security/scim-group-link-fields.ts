import { computed, ref } from "../../schema/field.ts";

/** Common fields of links to directory groups. @source docs/decisions/0042-api-contract.md */
export const SCIM_GROUP_LINK_FIELDS = {
  scimGroupId: ref("Directory group.", "scim-groups", { required: true, createOnly: true, onDelete: "cascade" }),
  name: computed("Name of the group in the directory.", "text"),
  memberCount: computed("Number of members of the directory group; returned with includeMemberCounts.", "integer", {
    when: "includeMemberCounts",
  }),
} as const;
