import { computed, json, number, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { EXTERNAL_SOURCES_FIELD, PLACE_SUMMARY_FIELDS } from "./place-fields.ts";

/** Campuses, plants and other places with an address of their own. @source decisions.md 6; digest `/v1/sites` */
export default defineResource({
  name: "sites",
  doc: "A place of the organisation; its buildings, floors and zones say where in it something is.",
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
    name: text("What people call the site.", { required: true, min: 1, max: 255 }),
    externalId: text("Name of the site in another system. own choice: unique, at most 255 characters.", {
      min: 1,
      unique: true,
    }),
    latitude: number("Degrees north of the equator.", { min: -90, max: 90, unit: "°" }),
    longitude: number("Degrees east of Greenwich.", { min: -180, max: 180, unit: "°" }),
    sources: json("Where the site was imported from, as the importer wrote it.", { unless: "includeSources" }),
    buildings: computed("Its buildings by name; returned with includeBuildings.", "array", {
      of: PLACE_SUMMARY_FIELDS,
      when: "includeBuildings",
    }),
    emergencyBuildings: computed(
      "Those of its buildings that emergency services know, by name; returned with includeEmergencyBuildings.",
      "array",
      { of: PLACE_SUMMARY_FIELDS, when: "includeEmergencyBuildings" },
    ),
    buildingTotal: computed("How many buildings it has; returned with includeBuildingTotal.", "integer", {
      when: "includeBuildingTotal",
    }),
    externalSources: EXTERNAL_SOURCES_FIELD,
    siteRecipientId: computed("Who plays the role there; given below a role.", "text", {
      sometimes: true,
      nullable: true,
    }),
  },
});
