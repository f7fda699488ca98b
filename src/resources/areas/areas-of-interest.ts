import { integer, list, number, object, option, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Circles on the map. @source service-api.md, Area of interest and Limits; decisions.md 5; digest `/v1/areas-of-interest`
 *
 * own choice: a radius of 1 m to 1000 km.
 */
export default defineResource({
  name: "areas-of-interest",
  doc: "A geographic circle; users inside it can be notified.",
  paths: [{ at: "areas-of-interest" }],
  idParam: "areaOfInterestId",
  scope: "organisation",
  replicate: "B",
  limit: { most: 20 },
  fields: {
    name: text("What people call the area.", { required: true, min: 1, max: 140 }),
    geometryType: option("Shape of the area.", ["circle"], { required: true }),
    geometryValue: object(
      "The circle as a GeoJSON feature. Required on creation.",
      {
        type: option("Kind of GeoJSON object.", ["Feature"]),
        geometry: object("Centre of the circle.", {
          type: option("Kind of geometry.", ["Point"]),
          coordinates: list(
            "Longitude, then latitude, in degrees.",
            number("Longitude or latitude.", { min: -180, max: 180 }),
            {
              minItems: 2,
              maxItems: 2,
            },
          ),
        }),
        properties: object("Size of the circle.", {
          radiusInM: integer("Radius.", { min: 1, max: 1_000_000, unit: "m" }),
        }),
      },
      { required: true },
    ),
    syncedDeviceTypes: list(
      "Device types whose owners count as inside; both or none means all.",
      option("A device type.", ["mobile", "desktop"]),
      { maxItems: 2, default: [] },
    ),
  },
});
