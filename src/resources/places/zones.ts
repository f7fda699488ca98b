import { computed, json, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { EXTERNAL_SOURCES_FIELD } from "./place-fields.ts";

/**
 * Parts of a floor, such as rooms.
 * @source docs/decisions/0006-places.md; docs/decisions/0042-api-contract.md,
 * `/v1/sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones`
 */
export default defineResource({
  name: "zones",
  doc: "A part of a floor, such as a room or a hall.",
  paths: [{ at: "sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones" }],
  idParam: "zoneId",
  scope: "parent",
  replicate: "B",
  limit: { most: 500, per: "floorId" },
  fields: {
    siteId: ref("Site of the building.", "sites", { required: true, createOnly: true, onDelete: "cascade" }),
    buildingId: ref("Building of the floor.", "buildings", { required: true, createOnly: true, onDelete: "cascade" }),
    floorId: ref("Floor the zone is on.", "floors", { required: true, createOnly: true, onDelete: "cascade" }),
    name: text("Name of the zone.", { required: true, min: 1, max: 255 }),
    externalId: text("Name of the zone in another system, at most 255 characters.", { min: 1 }),
    type: text("Type of zone, a code defined by the client.", { max: 4 }),
    siteName: computed("Name of the site; returned with includeParentNames.", "text", { when: "includeParentNames" }),
    buildingName: computed("Name of the building; returned with includeParentNames.", "text", {
      when: "includeParentNames",
    }),
    floorName: computed("Name of the floor; returned with includeParentNames.", "text", { when: "includeParentNames" }),
    externalSources: EXTERNAL_SOURCES_FIELD,
    boundary: json("Boundary of the zone, as GeoJSON or in fractions of the floor plan."),
  },
  unique: [["floorId", "externalId"]],
});
