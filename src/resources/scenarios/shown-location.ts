import { computed } from "../../schema/field.ts";
import { NESTED } from "../places/nested.ts";

/** A place as it is read: each level with id, name and externalId; levels that are not told are left out. */
export const SHOWN_LOCATION = {
  site: computed("The site.", "object", { of: NESTED, sometimes: true }),
  building: computed("The building.", "object", { of: NESTED, sometimes: true }),
  floor: computed("The floor.", "object", { of: NESTED, sometimes: true }),
  zone: computed("The zone.", "object", { of: NESTED, sometimes: true }),
};
