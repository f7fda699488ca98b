import { tableOf } from "../schema/catalogue.ts";
import type { Reader } from "../store/store.ts";
import { LEVELS, type Level, type Place, RESOURCE_OF } from "./levels.ts";

/** A place with the names of its levels, as it is shown; levels that are not told are left out. */
export type NamedPlace = Partial<Record<Level, { id: string; name: string; externalId: string | null }>>;

/** Names a place as it is called now; null for nowhere. */
export function namePlace(place: Place, reader: Reader): NamedPlace | null {
  const named: NamedPlace = {};
  for (const level of LEVELS) {
    const id = place[`${level}Id`];
    const row = id
      ? reader.one<{ id: string; name: string; externalId: string | null }>(
          `SELECT id, name, external_id AS externalId FROM ${tableOf(RESOURCE_OF[level])} WHERE id = ?`,
          id,
        )
      : null;
    if (row) named[level] = row;
  }
  return named.site ? named : null;
}

/** A place in words, from the narrowest level up, as people say it; an empty text for nowhere. own choice: the form. */
export function placeInWords(named: NamedPlace | null): string {
  return LEVELS.toReversed()
    .flatMap((level) => named?.[level]?.name ?? [])
    .join(", ");
}

/** Names of levels by id, all read at once. */
export function namesOf(level: Level, ids: readonly string[], reader: Reader): ReadonlyMap<string, string> {
  const lines = reader.all<{ id: string; name: string }>(
    `SELECT id, name FROM ${tableOf(RESOURCE_OF[level])} WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify([...new Set(ids)]),
  );
  return new Map(lines.map(({ id, name }) => [id, name]));
}
