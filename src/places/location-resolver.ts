import { invalidValue } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
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

/** Keys of a level in order of precedence; the first one given counts. @source docs/decisions/0007-scenarios.md, Starting a scenario */
const LOOKUP_KEYS = ["id", "externalId", "name"] as const;

/** Candidates with the same name; more are ambiguous whatever is below. @source docs/decisions/0204-scenarios-incidents-and-places.md, Places */
const MAX_CANDIDATES = 1_000;

const LOOKUP_COLUMNS = { id: "id", externalId: "external_id", name: "name" } as const;

/** Candidates for the level above. */
interface ParentCandidates {
  level: LocationLevel;
  ids: readonly string[];
}

/** Reference to one level. */
interface LevelReference {
  level: LocationLevel;
  key: (typeof LOOKUP_KEYS)[number];
  value: string;
}

/**
 * Resolves `{site, building, floor, zone}`, each an object with id, externalId or name. The narrowest level is sufficient; any
 * level given above must contain it. `visibility` limits which sites may be named. Names and external ids are compared without
 * case. Throws CallerError for `field`, or the level within it, if the location is unknown, ambiguous or inconsistent.
 * @source docs/decisions/0007-scenarios.md, Starting a scenario
 */
export function resolveLocation(
  location: unknown,
  reader: StoreReader,
  visibility: RowVisibility,
  field = "location",
): Location {
  const levels = parseLocation(location, field);
  let found: ParentCandidates | null = null;
  for (const each of levels) {
    const ids = findLevelIds(each, found, reader, visibility);
    if (ids.length === 0)
      throw invalidValue(`${field}.${each.level}`, notFoundMessage(each, found, reader, visibility));
    found = { level: each.level, ids };
  }
  const { level, ids } = found as unknown as ParentCandidates;
  if (ids.length > 1) throw invalidValue(`${field}.${level}`, sentence("field.the-name-is-ambiguous"));
  return locationOfRow(level, reader.get(RESOURCE_BY_LEVEL[level], ids[0] as string) as unknown as LocationRow);
}

function parseLocation(location: unknown, field: string): LevelReference[] {
  if (!isObject(location))
    throw invalidValue(field, sentence("field.must-be-an-object-with-site-building-floor-or-zone"));
  const references = LOCATION_LEVELS.flatMap((level) => {
    const given = location[level];
    return given === null || given === undefined ? [] : [parseLevel(level, given, `${field}.${level}`)];
  });
  if (references.length === 0)
    throw invalidValue(field, sentence("field.must-contain-at-least-one-of-site-building-floor-and"));
  return references;
}

function parseLevel(level: LocationLevel, given: unknown, field: string): LevelReference {
  if (!isObject(given))
    throw invalidValue(field, sentence("field.must-be-an-object-with-keys", { keys: LOOKUP_KEYS.join(", ") }));
  const key = LOOKUP_KEYS.find((name) => given[name] !== null && given[name] !== undefined && given[name] !== "");
  const value = key ? given[key] : null;
  if (!key || typeof value !== "string")
    throw invalidValue(field, sentence("field.must-have-a-string-as-keys", { keys: LOOKUP_KEYS.join(" or ") }));
  return { level, key, value };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Ids of matching rows of a level that are in one of the rows above. */
function findLevelIds(
  { level, key, value }: LevelReference,
  above: ParentCandidates | null,
  reader: StoreReader,
  visibility: RowVisibility,
): string[] {
  const resource = RESOURCE_BY_LEVEL[level];
  if (key === "id" && !isUuid(value)) return [];
  const seen = buildVisibilitySql(visibility.visible(resource));
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
  reference: LevelReference,
  above: ParentCandidates | null,
  reader: StoreReader,
  visibility: RowVisibility,
): string {
  const isElsewhere = above !== null && findLevelIds(reference, null, reader, visibility).length > 0;
  return isElsewhere
    ? sentence("field.must-be-in-the-given-level", { level: above.level })
    : sentence("field.no-level-with-this-key-was-found", { level: reference.level, key: reference.key });
}
