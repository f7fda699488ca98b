import { computed, json, text, uuid } from "../../schema/field.ts";

/** A floor's plan as it is shown with something that happened there. own choice */
const SHOWN_FLOOR_PLAN = {
  floorId: uuid("The floor.", { required: true }),
  floorName: text("Its name.", { required: true }),
  url: text("Where the picture is.", { required: true }),
  contentType: text("What kind of picture it is.", { required: true }),
  imageOrigins: json("How it lies on the ground; null when nobody said."),
  boundary: json("Outline of the zone on it, else of the floor; null without one."),
};

/** A computed field that shows the plan of the floor where something is, when the query's `flag` asks for it. */
export function floorPlanField(doc: string, flag: string) {
  return computed(`${doc} Null for none; given with ${flag}.`, "object", {
    of: SHOWN_FLOOR_PLAN,
    nullable: true,
    when: flag,
  });
}
