import { computed, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Groups of an external directory, written by provisioning (SCIM) and by administrators.
 * @source RFC 7643 §4.2; docs/decisions/0042-api-contract.md, `/v1/security-groups/{securityGroupId}/scim-groups`
 */
export default defineResource({
  name: "scim-groups",
  doc: "A group of an external directory that can be linked to distribution lists and security groups.",
  paths: [{ at: "scim-groups" }],
  idParam: "scimGroupId",
  scope: "organisation",
  replicate: "A",
  limit: { most: 10_000 },
  fields: {
    name: text("Name of the group in the directory. At most 10,000 groups.", {
      required: true,
      min: 1,
      max: 255,
    }),
    externalId: text("Id of the group in the directory.", { max: 255, unique: true }),
    identityProviderId: uuid(
      "Identity provider that sets the members at login; without one, members are provisioned by SCIM or managed manually.",
      { createOnly: true },
    ),
    memberCount: computed("Number of members; returned with includeMemberCounts.", "integer", {
      when: "includeMemberCounts",
    }),
  },
});
