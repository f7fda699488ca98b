import { computed, json, ref, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";
import { EXTERNAL_SOURCES_FIELD } from "./place-fields.ts";

/** Parts of a floor, such as rooms. @source decisions.md 6; digest `/v1/sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones` */
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
    name: text("What people call the zone.", { required: true, min: 1, max: 255 }),
    externalId: text("Name of the zone in another system. own choice: at most 255 characters.", { min: 1 }),
    type: text("Kind of zone, as the client's own code.", { max: 4 }),
    siteName: computed("Name of the site; returned with includeParentNames.", "text", { when: "includeParentNames" }),
    buildingName: computed("Name of the building; returned with includeParentNames.", "text", {
      when: "includeParentNames",
    }),
    floorName: computed("Name of the floor; returned with includeParentNames.", "text", { when: "includeParentNames" }),
    externalSources: EXTERNAL_SOURCES_FIELD,
    boundary: json("Outline of the zone, in parts of the floor's plan or as GeoJSON."),
  },
  unique: [["floorId", "externalId"]],
});
