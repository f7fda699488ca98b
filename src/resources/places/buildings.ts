import { boolean, computed, integer, json, number, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { EXTERNAL_SOURCES_FIELD, PLACE_SUMMARY_FIELDS } from "./place-fields.ts";

/** Buildings of a site. @source decisions.md 6; digest `/v1/sites/{siteId}/buildings` */
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
    name: text("What people call the building.", { required: true, min: 1, max: 255 }),
    externalId: text("Name of the building in another system. own choice: at most 255 characters.", { min: 1 }),
    addressLine1: text("Street and number.", { max: 200 }),
    addressLine2: text("Further line of the address.", { max: 200 }),
    city: text("Town.", { max: 60 }),
    state: text("State or province.", { max: 60 }),
    postalCode: text("Postal code.", { max: 40 }),
    country: text("Country.", { max: 60 }),
    latitude: number("Degrees north of the equator.", { min: -90, max: 90, unit: "°" }),
    longitude: number("Degrees east of Greenwich.", { min: -180, max: 180, unit: "°" }),
    externalSources: EXTERNAL_SOURCES_FIELD,
    boundary: json("Outline of the building, as GeoJSON."),
    emergency: boolean("Emergency services know the building. own choice: false until set.", { default: false }),
    primaryPhone: text("Telephone number of the building.", { max: 40 }),
    preferredPsapNumber: text("Telephone number of the emergency service that answers for the building.", { max: 40 }),
    siteName: computed("Name of the site; returned with includeParentNames.", "text", { when: "includeParentNames" }),
    floors: computed("Its floors, the lowest first; returned with includeFloors.", "array", {
      of: { ...PLACE_SUMMARY_FIELDS, type: text("Kind of floor."), rank: integer("Place in the order.") },
      when: "includeFloors",
    }),
    floorTotal: computed("How many floors it has; returned with includeFloorTotal.", "integer", {
      when: "includeFloorTotal",
    }),
    respondingPsap: text("Name of the emergency service that answers for the building.", { max: 120 }),
  },
  unique: [["siteId", "externalId"]],
});
