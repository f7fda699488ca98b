import { PLACE_LEVELS, type PlaceIds } from "../../api/scenario-rows.ts";

/** A place by its names, widest first; "" for nowhere. */
export function placeName(place: PlaceIds | null): string {
  return PLACE_LEVELS.flatMap((level) => place?.[level]?.name ?? []).join(", ");
}
