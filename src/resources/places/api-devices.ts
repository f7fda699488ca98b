import { computed, list, number, object, option, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Programs and things that start scenarios from a known place.
 * @source docs/decisions/0013-other-resources.md; docs/decisions/0042-api-contract.md, `/v1/api-devices`
 */
export default defineResource({
  name: "api-devices",
  doc: "A device that can start scenarios through the API; its place can be the location of the scenario.",
  paths: [{ at: "api-devices" }],
  idParam: "apiDeviceId",
  scope: "parent",
  visibilityReferences: ["siteId"],
  replicate: "B",
  limit: { most: 100_000 },
  fields: {
    name: text("Name of the device.", { required: true, min: 1, max: 140 }),
    externalId: text("Unique name that identifies the device in requests; avoid network addresses.", {
      required: true,
      min: 1,
      unique: true,
    }),
    siteId: ref("Site of the device.", "sites", { required: true, embed: "site", onDelete: "cascade" }),
    buildingId: ref("Building of the device.", "buildings", { required: true, embed: "building", onDelete: "cascade" }),
    floorId: ref("Floor of the device.", "floors", { embed: "floor" }),
    zoneId: ref("Zone of the device.", "zones", { embed: "zone" }),
    domainId: computed("Domain of its site.", "text", { of: uuid("Its id."), nullable: true }),
    domain: computed("That domain; returned with includeDomain.", "object", {
      of: { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }) },
      nullable: true,
      when: "includeDomain",
    }),
    pinnedLocation: object("Exact position.", {
      type: option("Position type.", ["Point"]),
      coordinates: list(
        "Longitude and latitude, in degrees.",
        number("Longitude or latitude.", { min: -180, max: 180 }),
        {
          minItems: 2,
          maxItems: 2,
        },
      ),
    }),
  },
});
