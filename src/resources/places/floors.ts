import { computed, file, integer, json, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { IMAGE_TYPES } from "../messages/media-types.ts";
import { EXTERNAL_SOURCES_FIELD, PLACE_SUMMARY_FIELDS } from "./place-fields.ts";

/** Floors of a building, from the lowest up. @source decisions.md 6; digest `/v1/sites/{siteId}/buildings/{buildingId}/floors` */
export default defineResource({
  name: "floors",
  doc: "A floor of a building, with its plan.",
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
    name: text("What people call the floor.", { required: true, min: 1, max: 255 }),
    externalId: text("Name of the floor in another system. own choice: at most 255 characters.", { min: 1 }),
    type: text("Kind of floor, as the client's own code.", { max: 4 }),
    rank: integer("Place in the building's order, 0 the lowest; a new floor becomes the highest.", {
      readOnly: true,
      default: 0,
    }),
    floorPlanImage: file("Plan of the floor.", IMAGE_TYPES),
    imageOrigins: json("How the plan lies on the ground: the corners of the picture as positions."),
    siteName: computed("Name of the site; returned with includeParentNames.", "text", { when: "includeParentNames" }),
    buildingName: computed("Name of the building; returned with includeParentNames.", "text", {
      when: "includeParentNames",
    }),
    zones: computed("Its zones by name; returned with includeZones or includeZoneBoundaries.", "array", {
      of: {
        ...PLACE_SUMMARY_FIELDS,
        type: text("Kind of zone."),
        boundary: json("Outline of the zone; null unless asked for with includeZoneBoundaries."),
      },
      when: ["includeZones", "includeZoneBoundaries"],
    }),
    zoneTotal: computed("How many zones it has; returned with includeZoneTotal.", "integer", { when: "includeZoneTotal" }),
    externalSources: EXTERNAL_SOURCES_FIELD,
    boundary: json("Outline of the floor, as GeoJSON or in parts of the plan."),
  },
  unique: [["buildingId", "externalId"]],
});
