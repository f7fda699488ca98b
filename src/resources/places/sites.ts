import { computed, json, number, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { EXTERNAL_SOURCES_FIELD, PLACE_SUMMARY_FIELDS } from "./place-fields.ts";

/**
 * Sites, such as campuses and plants.
 * @source docs/decisions/0006-places.md; docs/decisions/0042-api-contract.md, `/v1/sites`
 */
export default defineResource({
  name: "sites",
  doc: "A place of the organisation, divided into buildings, floors and zones.",
  paths: [
    { at: "sites" },
    {
      at: "site-roles/{siteRoleId}/sites",
      methods: ["get"],
      through: { resource: "site-recipients", via: "siteId" },
    },
  ],
  idParam: "siteId",
  scope: "domain",
  replicate: "B",
  limit: { most: 500 },
  fields: {
    name: text("Name of the site.", { required: true, min: 1, max: 255 }),
    externalId: text("Name of the site in another system; unique, at most 255 characters.", {
      min: 1,
      unique: true,
    }),
    latitude: number("Degrees north of the equator.", { min: -90, max: 90, unit: "°" }),
    longitude: number("Degrees east of Greenwich.", { min: -180, max: 180, unit: "°" }),
    sources: json("Source of the import, as written by the importer.", { unless: "includeSources" }),
    buildings: computed("Buildings by name; returned with includeBuildings.", "array", {
      of: PLACE_SUMMARY_FIELDS,
      when: "includeBuildings",
    }),
    emergencyBuildings: computed(
      "Buildings registered with emergency services, by name; returned with includeEmergencyBuildings.",
      "array",
      { of: PLACE_SUMMARY_FIELDS, when: "includeEmergencyBuildings" },
    ),
    buildingTotal: computed("Number of buildings; returned with includeBuildingTotal.", "integer", {
      when: "includeBuildingTotal",
    }),
    externalSources: EXTERNAL_SOURCES_FIELD,
    siteRecipientId: computed("Id of the site recipients of the role; returned below a site role.", "text", {
      sometimes: true,
      nullable: true,
    }),
  },
});
