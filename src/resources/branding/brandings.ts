import { computed, file, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * How the organisation shows itself.
 * @source docs/decisions/0001-lists-and-paging.md; docs/decisions/0042-api-contract.md, `/v1/brandings`
 */
export default defineResource({
  name: "brandings",
  doc: "Logo, colours and contact data of the organisation, shown on the login page and in the console.",
  paths: [{ at: "brandings", methods: ["get", "post", "put"] }],
  idParam: "brandingId",
  scope: "organisation",
  replicate: "A",
  fields: {
    logo: file("Logo.", ["image/png", "image/jpeg"], { maxBytes: 1_048_576 }),
    logoAltText: text("Alternative text of the logo.", { max: 100 }),
    primaryColor: text("Primary colour.", { format: "color", max: 7 }),
    secondaryColor: text("Secondary colour.", { format: "color", max: 7 }),
    companyName: text("Name of the organisation."),
    companyEmail: text("Contact email address.", { format: "email", max: 254 }),
    companyPhone: text("Contact phone number.", { max: 40 }),
    customUrl: text("URL of the organisation's help pages.", { format: "url", max: 256 }),
    defaults: computed("Values used for fields that are not set.", "object", {
      of: {
        defaultLogo: text("Path of the logo.", { required: true }),
        defaultLogoAltText: text("Alternative text of the logo.", { required: true }),
        defaultPrimaryColor: text("Primary colour.", { required: true }),
        defaultSecondaryColor: text("Secondary colour.", { required: true }),
      },
    }),
  },
});
