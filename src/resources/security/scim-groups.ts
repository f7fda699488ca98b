import { computed, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Groups of a directory outside, as its provisioning names them. own choice: the path, its operations and `externalId`;
 * provisioning writes them, and administrators may.
 * @source digest `/v1/security-groups/{securityGroupId}/scim-groups`; RFC 7643 §4.2
 */
export default defineResource({
  name: "scim-groups",
  doc: "A group of people in a directory outside, which lists and security groups can be tied to.",
  paths: [{ at: "scim-groups" }],
  idParam: "scimGroupId",
  scope: "organisation",
  replicate: "A",
  limit: { most: 10_000 },
  fields: {
    name: text("What the directory calls the group. own choice: at most 10,000 groups.", {
      required: true,
      min: 1,
      max: 255,
    }),
    externalId: text("The directory's own id of the group.", { max: 255, unique: true }),
    identityProviderId: uuid(
      "own choice: identity provider that says at log-in who is in it; without one, provisioning and people do.",
      { createOnly: true },
    ),
    memberCount: computed("Users who are members; there with includeMemberCounts.", "integer", {
      when: "includeMemberCounts",
    }),
  },
});
