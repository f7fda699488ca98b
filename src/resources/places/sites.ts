import { json, number, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Campuses, plants and other places with an address of their own. @source decisions.md 6; digest `/v1/sites` */
export default defineResource({
  name: "sites",
  doc: "A place of the organisation; its buildings, floors and zones say where in it something is.",
  paths: [{ at: "sites" }],
  idParam: "siteId",
  scope: "domain",
  replicate: "B",
  limit: { most: 500 },
  fields: {
    name: text("What people call the site.", { required: true, min: 1, max: 255 }),
    externalId: text("Name of the site in another system. own choice: unique, at most 255 characters.", {
      min: 1,
      unique: true,
    }),
    latitude: number("Degrees north of the equator.", { min: -90, max: 90, unit: "°" }),
    longitude: number("Degrees east of Greenwich.", { min: -180, max: 180, unit: "°" }),
    sources: json("Where the site was imported from, as the importer wrote it."),
  },
});
