import { computed, file, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** How the organisation shows itself. @source service-api.md, /v1/brandings; decisions.md 1; digest */
export default defineResource({
  name: "brandings",
  doc: "Logo, colours and contact of the organisation, as log-in and console show them.",
  paths: [{ at: "brandings", methods: ["get", "post", "put"] }],
  idParam: "brandingId",
  scope: "organisation",
  replicate: "A",
  fields: {
    logo: file("Logo.", ["image/png", "image/jpeg"], { maxBytes: 1_048_576 }),
    logoAltText: text("The logo in words.", { max: 100 }),
    primaryColor: text("First colour.", { format: "color", max: 7 }),
    secondaryColor: text("Second colour.", { format: "color", max: 7 }),
    companyName: text("Name of the organisation."),
    companyEmail: text("Address that people may write to.", { format: "email", max: 254 }),
    companyPhone: text("Number that people may call.", { max: 40 }),
    customUrl: text("Help pages of the organisation.", { format: "url", max: 256 }),
    defaults: computed("What is shown where nothing is set.", "object", {
      of: {
        defaultLogo: text("Path of the logo.", { required: true }),
        defaultLogoAltText: text("The logo in words.", { required: true }),
        defaultPrimaryColor: text("First colour.", { required: true }),
        defaultSecondaryColor: text("Second colour.", { required: true }),
      },
    }),
  },
});
