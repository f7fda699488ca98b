import { computed, file, integer, json, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { IMAGE_TYPES } from "../messages/media-types.ts";
import { EXTERNAL_SOURCES_FIELD, PLACE_SUMMARY_FIELDS } from "./place-fields.ts";

/**
 * Floors of a building, from the lowest up.
 * @source docs/decisions/0006-places.md; docs/decisions/0042-api-contract.md,
 * `/v1/sites/{siteId}/buildings/{buildingId}/floors`
 */
export default defineResource({
  name: "floors",
  doc: "A floor of a building, with its floor plan.",
  paths: [{ at: "sites/{siteId}/buildings/{buildingId}/floors" }],
  idParam: "floorId",
  scope: "parent",
  replicate: "B",
  limit: { most: 100, per: "buildingId" },
  sort: "rank",
  fields: {
    siteId: ref("Site of the building.", "sites", { required: true, createOnly: true, onDelete: "cascade" }),
    buildingId: ref("Building the floor is in.", "buildings", {
      required: true,
      createOnly: true,
      onDelete: "cascade",
    }),
    name: text("Name of the floor.", { required: true, min: 1, max: 255 }),
    externalId: text("Name of the floor in another system, at most 255 characters.", { min: 1 }),
    type: text("Type of floor, a code defined by the client.", { max: 4 }),
    rank: integer("Position in the building, 0 the lowest; a new floor becomes the highest.", {
      readOnly: true,
      default: 0,
    }),
    floorPlanImage: file("Floor plan image.", IMAGE_TYPES),
    imageOrigins: json("Georeference of the plan: positions of the image corners."),
    siteName: computed("Name of the site; returned with includeParentNames.", "text", { when: "includeParentNames" }),
    buildingName: computed("Name of the building; returned with includeParentNames.", "text", {
      when: "includeParentNames",
    }),
    zones: computed("Zones by name; returned with includeZones or includeZoneBoundaries.", "array", {
      of: {
        ...PLACE_SUMMARY_FIELDS,
        type: text("Type of zone."),
        boundary: json("Boundary of the zone; null unless requested with includeZoneBoundaries."),
      },
      when: ["includeZones", "includeZoneBoundaries"],
    }),
    zoneTotal: computed("Number of zones; returned with includeZoneTotal.", "integer", { when: "includeZoneTotal" }),
    externalSources: EXTERNAL_SOURCES_FIELD,
    boundary: json("Boundary of the floor, as GeoJSON or in fractions of the plan."),
  },
  unique: [["buildingId", "externalId"]],
});
