import { invalidValue } from "../base/errors.ts";
import { isUuid } from "../base/ids.ts";
import { tableOf } from "../schema/catalogue.ts";
import { seenSql } from "../store/seen.ts";
import type { Reader, Sight } from "../store/store.ts";
import { LEVELS, type Level, type Place, type PlaceRow, placeOfRow, RESOURCE_OF } from "./levels.ts";

/** What a level may be told by: the first one given counts. @source decisions.md 7 */
const KEYS = ["id", "externalId", "name"] as const;

/** Places of one name that are looked at; own choice: more of them are ambiguous whatever stands below. */
const MOST_ALIKE = 1_000;

const COLUMNS = { id: "id", externalId: "external_id", name: "name" } as const;

/** What may lie above the level that is looked for. */
interface Above {
  level: Level;
  ids: readonly string[];
}

/** What one level was told by. */
interface Told {
  level: Level;
  key: (typeof KEYS)[number];
  value: string;
}

/**
 * The place that a client tells as `{site, building, floor, zone}`, each an object with id, externalId or name. The
 * narrowest level alone is enough; levels given above it must hold it. `sight` says which sites may be named.
 * Throws CallerError on `field`, or the level within it, for what is unknown, ambiguous or does not belong together.
 *
 * own choice: names and ids of other systems are compared without case.
 * @source decisions.md 7; service-api.md, Scenario location attributes
 */
export function resolveLocation(location: unknown, reader: Reader, sight: Sight, field = "location"): Place {
  const told = readLocation(location, field);
  let found: Above | null = null;
  for (const each of told) {
    const ids = idsOf(each, found, reader, sight);
    if (ids.length === 0) throw invalidValue(`${field}.${each.level}`, whyNone(each, found, reader, sight));
    found = { level: each.level, ids };
  }
  const { level, ids } = found as unknown as Above;
  if (ids.length > 1) throw invalidValue(`${field}.${level}`, "Several are called so.");
  return placeOfRow(level, reader.get(RESOURCE_OF[level], ids[0] as string) as unknown as PlaceRow);
}

function readLocation(location: unknown, field: string): Told[] {
  if (!isObject(location)) throw invalidValue(field, "An object with site, building, floor or zone is expected.");
  const told = LEVELS.flatMap((level) => {
    const given = location[level];
    return given === null || given === undefined ? [] : [readLevel(level, given, `${field}.${level}`)];
  });
  if (told.length === 0) throw invalidValue(field, "It names no place.");
  return told;
}

function readLevel(level: Level, given: unknown, field: string): Told {
  if (!isObject(given)) throw invalidValue(field, `An object with ${KEYS.join(", ")} is expected.`);
  const key = KEYS.find((name) => given[name] !== null && given[name] !== undefined && given[name] !== "");
  const value = key ? given[key] : null;
  if (!key || typeof value !== "string") throw invalidValue(field, `A text as ${KEYS.join(" or ")} is expected.`);
  return { level, key, value };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Ids of rows of a level that fit and lie in one of those above. */
function idsOf({ level, key, value }: Told, above: Above | null, reader: Reader, sight: Sight): string[] {
  const resource = RESOURCE_OF[level];
  if (key === "id" && !isUuid(value)) return [];
  const seen = seenSql(sight.visible(resource));
  const inside = above
    ? `t.${above.level}_pk IN (SELECT pk FROM ${tableOf(RESOURCE_OF[above.level])} WHERE id IN (SELECT value FROM json_each(?)))`
    : "1";
  return reader
    .all<{ id: string }>(
      `SELECT t.id FROM ${tableOf(resource)} t
       WHERE t.${COLUMNS[key]} = ? COLLATE NOCASE AND ${inside} AND ${seen.sql} LIMIT ${MOST_ALIKE}`,
      ...[value, ...(above ? [JSON.stringify(above.ids)] : []), ...seen.params],
    )
    .map(({ id }) => id);
}

function whyNone(told: Told, above: Above | null, reader: Reader, sight: Sight): string {
  const isElsewhere = above !== null && idsOf(told, null, reader, sight).length > 0;
  return isElsewhere ? `It does not lie in that ${above.level}.` : `No ${told.level} has that ${told.key}.`;
}
