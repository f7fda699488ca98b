import { tableName } from "../schema/catalogue.ts";
import type { StoreReader } from "../store/store.ts";
import { LOCATION_LEVELS, type Location, type LocationLevel, RESOURCE_BY_LEVEL } from "./location-levels.ts";

/** A place with the names of its levels, as it is shown; levels that are not told are left out. */
export type NamedLocation = Partial<Record<LocationLevel, { id: string; name: string; externalId: string | null }>>;

/** Names a place as it is called now; null for nowhere. */
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

/** A place in words, from the narrowest level up, as people say it; an empty text for nowhere. own choice: the form. */
export function formatLocation(named: NamedLocation | null): string {
  return LOCATION_LEVELS.toReversed()
    .flatMap((level) => named?.[level]?.name ?? [])
    .join(", ");
}

/** Names of levels by id, all read at once. */
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
