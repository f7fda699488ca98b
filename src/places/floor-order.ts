import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import floors from "../resources/places/floors.ts";
import type { ActorContext, Store } from "../store/store.ts";

/** More than a building may have. */
const MAX_FLOORS = 1_000;

/**
 * Orders the floors of a building, lowest first; returns their ids. All floors must be given, each once. Throws
 * invalid-value for `floors`. @source docs/decisions/0006-places.md
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
      throw invalidValue("floors", sentence("field.must-contain-every-floor-of-the-building-exactly-once"));
    }
    for (const [rank, id] of given.entries()) tx.update(floors, id, {}, by, { rank });
    return given;
  });
}
