import { PLACE_LEVELS, type Place } from "../../api/scenario-rows.ts";

/** A place by its names, widest first; "" for nowhere. */
export function placeWords(place: Place | null): string {
  return PLACE_LEVELS.flatMap((level) => place?.[level]?.name ?? []).join(", ");
}
