import { boolean, computed, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Roles at sites, such as the response team.
 * @source docs/decisions/0006-places.md; docs/decisions/0042-api-contract.md, `/v1/site-roles`
 */
export default defineResource({
  name: "site-roles",
  doc: "A role at sites, such as the response team; each site defines its recipients.",
  paths: [{ at: "site-roles" }],
  idParam: "siteRoleId",
  scope: "domain",
  replicate: "B",
  fields: {
    name: text("Name of the role.", { required: true, min: 1, max: 140 }),
    associatedSites: computed(
      "Sites with recipients for the role, by name; returned with includeAssociatedSites.",
      "array",
      {
        of: { id: uuid("Id of the site.", { required: true }), name: text("Its name.", { required: true }) },
        when: "includeAssociatedSites",
      },
    ),
    isShared: boolean("Visible in the domains below the role's domain.", { default: false }),
  },
});
