import { computed, json, text, uuid } from "../../schema/field.ts";

/** A floor's plan as it is shown with something that happened there. */
const FLOOR_PLAN = {
  floorId: uuid("The floor.", { required: true }),
  floorName: text("Its name.", { required: true }),
  url: text("URL of the image.", { required: true }),
  contentType: text("Content type of the image.", { required: true }),
  imageOrigins: json("Georeference of the plan; null if not set."),
  boundary: json("Boundary of the zone, otherwise of the floor; null without one."),
};

/** A computed field with the floor plan of a location, returned with the query flag `flag`. */
export function floorPlanField(doc: string, flag: string) {
  return computed(`${doc} Null without one; returned with ${flag}.`, "object", {
    of: FLOOR_PLAN,
    nullable: true,
    when: flag,
  });
}
