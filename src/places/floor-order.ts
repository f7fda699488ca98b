import { invalidValue } from "../lib/errors.ts";
import floors from "../resources/places/floors.ts";
import type { ActorContext, Store } from "../store/store.ts";

/** More than a building may have. */
const MAX_FLOORS = 1_000;

/**
 * Puts a building's floors in order, the lowest first; returns their ids. own choice: all of them are named, each once.
 * Throws invalid-value on `floors`. @source decisions.md 6; digest `/v1/sites/{siteId}/buildings/{buildingId}/reorder-floors`
 */
export async function reorderFloors(
  store: Store,
  buildingId: string,
  ids: readonly string[],
  by: ActorContext,
): Promise<readonly string[]> {
  return store.write((tx) => {
    const present = new Set(tx.find(floors, { buildingId }, MAX_FLOORS).map(({ id }) => id));
    const given = ids.map((id) => id.toLowerCase());
    if (
      new Set(given).size !== present.size ||
      given.length !== present.size ||
      !given.every((id) => present.has(id))
    ) {
      throw invalidValue("floors", "Every floor of the building is named once.");
    }
    for (const [rank, id] of given.entries()) tx.update(floors, id, {}, by, { rank });
    return given;
  });
}
