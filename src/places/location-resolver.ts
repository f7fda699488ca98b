import { invalidValue } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { tableName } from "../schema/catalogue.ts";
import type { RowVisibility, StoreReader } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";
import {
  LOCATION_LEVELS,
  type Location,
  type LocationLevel,
  type LocationRow,
  locationOfRow,
  RESOURCE_BY_LEVEL,
} from "./location-levels.ts";

/** What a level may be told by: the first one given counts. @source decisions.md 7 */
const LOOKUP_KEYS = ["id", "externalId", "name"] as const;

/** Places of one name that are looked at; own choice: more of them are ambiguous whatever stands below. */
const MAX_CANDIDATES = 1_000;

const LOOKUP_COLUMNS = { id: "id", externalId: "external_id", name: "name" } as const;

/** What may lie above the level that is looked for. */
interface ParentCandidates {
  level: LocationLevel;
  ids: readonly string[];
}

/** What one level was told by. */
interface LevelReference {
  level: LocationLevel;
  key: (typeof LOOKUP_KEYS)[number];
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
export function resolveLocation(
  location: unknown,
  reader: StoreReader,
  sight: RowVisibility,
  field = "location",
): Location {
  const told = parseLocation(location, field);
  let found: ParentCandidates | null = null;
  for (const each of told) {
    const ids = findLevelIds(each, found, reader, sight);
    if (ids.length === 0) throw invalidValue(`${field}.${each.level}`, notFoundMessage(each, found, reader, sight));
    found = { level: each.level, ids };
  }
  const { level, ids } = found as unknown as ParentCandidates;
  if (ids.length > 1) throw invalidValue(`${field}.${level}`, "Several are called so.");
  return locationOfRow(level, reader.get(RESOURCE_BY_LEVEL[level], ids[0] as string) as unknown as LocationRow);
}

function parseLocation(location: unknown, field: string): LevelReference[] {
  if (!isObject(location)) throw invalidValue(field, "An object with site, building, floor or zone is expected.");
  const told = LOCATION_LEVELS.flatMap((level) => {
    const given = location[level];
    return given === null || given === undefined ? [] : [parseLevel(level, given, `${field}.${level}`)];
  });
  if (told.length === 0) throw invalidValue(field, "It names no place.");
  return told;
}

function parseLevel(level: LocationLevel, given: unknown, field: string): LevelReference {
  if (!isObject(given)) throw invalidValue(field, `An object with ${LOOKUP_KEYS.join(", ")} is expected.`);
  const key = LOOKUP_KEYS.find((name) => given[name] !== null && given[name] !== undefined && given[name] !== "");
  const value = key ? given[key] : null;
  if (!key || typeof value !== "string")
    throw invalidValue(field, `A text as ${LOOKUP_KEYS.join(" or ")} is expected.`);
  return { level, key, value };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Ids of rows of a level that fit and lie in one of those above. */
function findLevelIds(
  { level, key, value }: LevelReference,
  above: ParentCandidates | null,
  reader: StoreReader,
  sight: RowVisibility,
): string[] {
  const resource = RESOURCE_BY_LEVEL[level];
  if (key === "id" && !isUuid(value)) return [];
  const seen = buildVisibilitySql(sight.visible(resource));
  const inside = above
    ? `t.${above.level}_pk IN (SELECT pk FROM ${tableName(RESOURCE_BY_LEVEL[above.level])} WHERE id IN (SELECT value FROM json_each(?)))`
    : "1";
  return reader
    .all<{ id: string }>(
      `SELECT t.id FROM ${tableName(resource)} t
       WHERE t.${LOOKUP_COLUMNS[key]} = ? COLLATE NOCASE AND ${inside} AND ${seen.sql} LIMIT ${MAX_CANDIDATES}`,
      ...[value, ...(above ? [JSON.stringify(above.ids)] : []), ...seen.params],
    )
    .map(({ id }) => id);
}

function notFoundMessage(
  told: LevelReference,
  above: ParentCandidates | null,
  reader: StoreReader,
  sight: RowVisibility,
): string {
  const isElsewhere = above !== null && findLevelIds(told, null, reader, sight).length > 0;
  return isElsewhere ? `It does not lie in that ${above.level}.` : `No ${told.level} has that ${told.key}.`;
}
