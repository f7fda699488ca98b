import { computed, list, number, object, option, ref, text, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** Programs and things that start scenarios from a known place. @source service-api.md, API device; decisions.md 13; digest `/v1/api-devices` */
export default defineResource({
  name: "api-devices",
  doc: "A device that can start scenarios and fits no narrower kind; where it stands can be the scenario's location.",
  paths: [{ at: "api-devices" }],
  idParam: "apiDeviceId",
  scope: "parent",
  visibilityReferences: ["siteId"],
  replicate: "B",
  limit: { most: 100_000 },
  fields: {
    name: text("What people call the device.", { required: true, min: 1, max: 140 }),
    externalId: text("Name that tells it apart in every request; network addresses are a poor choice.", {
      required: true,
      min: 1,
      unique: true,
    }),
    siteId: ref("Site it stands at.", "sites", { required: true, embed: "site", onDelete: "cascade" }),
    buildingId: ref("Building it stands in.", "buildings", { required: true, embed: "building", onDelete: "cascade" }),
    floorId: ref("Floor it stands on.", "floors", { embed: "floor" }),
    zoneId: ref("Zone it stands in.", "zones", { embed: "zone" }),
    domainId: computed("Domain of its site.", "text", { of: uuid("Its id."), nullable: true }),
    domain: computed("That domain; returned with includeDomain.", "object", {
      of: { id: uuid("Its id.", { required: true }), name: text("Its name.", { required: true }) },
      nullable: true,
      when: "includeDomain",
    }),
    pinnedLocation: object("Where it stands exactly.", {
      type: option("Kind of position.", ["Point"]),
      coordinates: list("Longitude and latitude, in degrees.", number("Longitude or latitude.", { min: -180, max: 180 }), {
        minItems: 2,
        maxItems: 2,
      }),
    }),
  },
});
