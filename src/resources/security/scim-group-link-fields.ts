import { computed, ref } from "../../schema/field.ts";

/** What every tie to a group of a directory outside has beside what is tied. @source digest, scim-groups */
export const SCIM_GROUP_LINK_FIELDS = {
  scimGroupId: ref("Group of the directory.", "scim-groups", { required: true, createOnly: true, onDelete: "cascade" }),
  name: computed("What the directory calls the group.", "text"),
  memberCount: computed("Users who are members of the directory's group; there with includeMemberCounts.", "integer", {
    when: "includeMemberCounts",
  }),
} as const;
