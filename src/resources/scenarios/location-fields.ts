import { computed } from "../../schema/field.ts";
import { PLACE_SUMMARY_FIELDS } from "../places/place-fields.ts";

/** A location as returned: each level with id, name and externalId; levels that are not set are omitted. */
export const LOCATION_FIELDS = {
  site: computed("The site.", "object", { of: PLACE_SUMMARY_FIELDS, sometimes: true }),
  building: computed("The building.", "object", { of: PLACE_SUMMARY_FIELDS, sometimes: true }),
  floor: computed("The floor.", "object", { of: PLACE_SUMMARY_FIELDS, sometimes: true }),
  zone: computed("The zone.", "object", { of: PLACE_SUMMARY_FIELDS, sometimes: true }),
};

/** Ways to find the location of a start, in their default order. */
export const LOCATION_STRATEGIES = ["location", "site-question", "initiation-device", "scenario-default"] as const;
