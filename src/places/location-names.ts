import { tableName } from "../schema/catalogue.ts";
import type { StoreReader } from "../store/store.ts";
import { LOCATION_LEVELS, type Location, type LocationLevel, RESOURCE_BY_LEVEL } from "./location-levels.ts";

/** A location with the names of its levels, for responses; unset levels are absent. */
export type NamedLocation = Partial<Record<LocationLevel, { id: string; name: string; externalId: string | null }>>;

/** Uses the current names; null for no location. */
export function nameLocation(place: Location, reader: StoreReader): NamedLocation | null {
  const named: NamedLocation = {};
  for (const level of LOCATION_LEVELS) {
    const id = place[`${level}Id`];
    const row = id
      ? reader.one<{ id: string; name: string; externalId: string | null }>(
          `SELECT id, name, external_id AS externalId FROM ${tableName(RESOURCE_BY_LEVEL[level])} WHERE id = ?`,
          id,
        )
      : null;
    if (row) named[level] = row;
  }
  return named.site ? named : null;
}

/** A location as text, narrowest level first; empty without a location. @source docs/decisions/0204-scenarios-incidents-and-places.md, Places */
export function formatLocation(named: NamedLocation | null): string {
  return LOCATION_LEVELS.toReversed()
    .flatMap((level) => named?.[level]?.name ?? [])
    .join(", ");
}

/** Names of levels by id, in one query. */
export function placeNamesById(
  level: LocationLevel,
  ids: readonly string[],
  reader: StoreReader,
): ReadonlyMap<string, string> {
  const lines = reader.all<{ id: string; name: string }>(
    `SELECT id, name FROM ${tableName(RESOURCE_BY_LEVEL[level])} WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify([...new Set(ids)]),
  );
  return new Map(lines.map(({ id, name }) => [id, name]));
}
