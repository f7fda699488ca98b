import { boolean, computed, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Parts that people play at a site, such as its response team. @source decisions.md 6; digest `/v1/site-roles` */
export default defineResource({
  name: "site-roles",
  doc: "A part that recipients play at a site; each site says who plays it.",
  paths: [{ at: "site-roles" }],
  idParam: "siteRoleId",
  scope: "domain",
  replicate: "B",
  fields: {
    name: text("What people call the role.", { required: true, min: 1, max: 140 }),
    associatedSites: computed("Sites where somebody plays it, by name; returned with includeAssociatedSites.", "array", {
      of: { id: uuid("Id of the site.", { required: true }), name: text("Its name.", { required: true }) },
      when: "includeAssociatedSites",
    }),
    isShared: boolean("Domains below the role's own see it too.", { default: false }),
  },
});
