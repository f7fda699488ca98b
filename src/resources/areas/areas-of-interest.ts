import { integer, list, number, object, option, text } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Circles on the map.
 * @source docs/decisions/0005-users-and-devices.md; docs/decisions/0042-api-contract.md, `/v1/areas-of-interest`
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
    name: text("Name of the area.", { required: true, min: 1, max: 140 }),
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
