import { boolean, computed, integer, json, number, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { EXTERNAL_SOURCES_FIELD, PLACE_SUMMARY_FIELDS } from "./place-fields.ts";

/**
 * Buildings of a site.
 * @source docs/decisions/0006-places.md; docs/decisions/0042-api-contract.md, `/v1/sites/{siteId}/buildings`
 */
export default defineResource({
  name: "buildings",
  doc: "A building of a site.",
  paths: [{ at: "sites/{siteId}/buildings" }],
  idParam: "buildingId",
  scope: "parent",
  replicate: "B",
  limit: { most: 1_000, per: "siteId" },
  fields: {
    siteId: ref("Site the building belongs to.", "sites", { required: true, createOnly: true, onDelete: "cascade" }),
    name: text("Name of the building.", { required: true, min: 1, max: 255 }),
    externalId: text("Name of the building in another system, at most 255 characters.", { min: 1 }),
    addressLine1: text("Street and number.", { max: 200 }),
    addressLine2: text("Further line of the address.", { max: 200 }),
    city: text("City.", { max: 60 }),
    state: text("State or province.", { max: 60 }),
    postalCode: text("Postal code.", { max: 40 }),
    country: text("Country.", { max: 60 }),
    latitude: number("Degrees north of the equator.", { min: -90, max: 90, unit: "°" }),
    longitude: number("Degrees east of Greenwich.", { min: -180, max: 180, unit: "°" }),
    externalSources: EXTERNAL_SOURCES_FIELD,
    boundary: json("Boundary of the building, as GeoJSON."),
    emergency: boolean("The building is registered with emergency services. Default: false.", { default: false }),
    primaryPhone: text("Phone number of the building.", { max: 40 }),
    preferredPsapNumber: text("Phone number of the responsible emergency service (PSAP).", { max: 40 }),
    siteName: computed("Name of the site; returned with includeParentNames.", "text", { when: "includeParentNames" }),
    floors: computed("Floors, lowest first; returned with includeFloors.", "array", {
      of: { ...PLACE_SUMMARY_FIELDS, type: text("Type of floor."), rank: integer("Position, 0 the lowest.") },
      when: "includeFloors",
    }),
    floorTotal: computed("Number of floors; returned with includeFloorTotal.", "integer", {
      when: "includeFloorTotal",
    }),
    respondingPsap: text("Name of the responsible emergency service (PSAP).", { max: 120 }),
  },
  unique: [["siteId", "externalId"]],
});
