import buildings from "../resources/places/buildings.ts";
import floors from "../resources/places/floors.ts";
import type sites from "../resources/places/sites.ts";
import zones from "../resources/places/zones.ts";
import type { RowBase } from "../schema/resource.ts";
import type { Behaviour, PresentContext } from "../store/store.ts";
import type { Level } from "./levels.ts";
import { type Nesting, nestedIn, totalsIn } from "./nested-places.ts";
import { namesOf } from "./place-names.ts";

const NAMES = "t.id, t.name, t.external_id AS externalId";
const BUILDINGS: Nesting = { resource: buildings, column: "site_pk", members: NAMES, order: "t.name, t.pk" };
const EMERGENCY_BUILDINGS: Nesting = { ...BUILDINGS, only: "t.emergency = 1" };
const FLOORS: Nesting = {
  resource: floors,
  column: "building_pk",
  members: `${NAMES}, t.type, t.rank`,
  order: "t.rank, t.pk",
};
const ZONES: Nesting = {
  resource: zones,
  column: "floor_pk",
  members: `${NAMES}, t.type, NULL AS boundary`,
  order: "t.name, t.pk",
};
const ZONES_WITH_BOUNDARY: Nesting = { ...ZONES, members: `${NAMES}, t.type, t.boundary` };

/** Sites show their buildings where they are asked for, and below a role who plays it there. */
export const siteBehaviour: Behaviour<typeof sites> = {
  present(rows, context) {
    const { query } = context;
    const pks = rows.map(({ pk }) => pk);
    const inside = query.includeBuildings === true ? nestedIn(BUILDINGS, pks, context) : null;
    const known = query.includeEmergencyBuildings === true ? nestedIn(EMERGENCY_BUILDINGS, pks, context) : null;
    const totals = query.includeBuildingTotal === true ? totalsIn(BUILDINGS, pks, context) : null;
    const players = context.params.siteRoleId === undefined ? null : playersAt(pks, context);
    return rows.map(({ pk, externalId }) => ({
      ...(query.includeSources === false ? { sources: undefined } : {}),
      ...externalSources(externalId, query),
      ...(inside ? { buildings: inside(pk) } : {}),
      ...(known ? { emergencyBuildings: known(pk) } : {}),
      ...(totals ? { buildingTotal: totals(pk) } : {}),
      ...(players ? { siteRecipientId: players.get(pk) ?? null } : {}),
    }));
  },
};

/** Ids of the site recipients that play the path's role, by the internal key of their site. */
function playersAt(pks: readonly number[], { reader, params }: PresentContext): Map<number, string> {
  const lines = reader.all<{ site: number; id: string }>(
    `SELECT p.site_pk AS site, p.id FROM site_recipients p JOIN site_roles r ON r.pk = p.site_role_pk
     WHERE r.id = ? AND p.site_pk IN (SELECT value FROM json_each(?))`,
    params.siteRoleId ?? "",
    JSON.stringify(pks),
  );
  return new Map(lines.map(({ site, id }) => [site, id]));
}

/** Buildings show their floors and the name of their site where they are asked for. */
export const buildingBehaviour: Behaviour<typeof buildings> = {
  present(rows, context) {
    const { query } = context;
    const pks = rows.map(({ pk }) => pk);
    const inside = query.includeFloors === true ? nestedIn(FLOORS, pks, context) : null;
    const totals = query.includeFloorTotal === true ? totalsIn(FLOORS, pks, context) : null;
    const parents = parentNames(rows, ["site"], context);
    return rows.map((row, at) => ({
      ...parents[at],
      ...externalSources(row.externalId, query),
      ...(inside ? { floors: inside(row.pk) } : {}),
      ...(totals ? { floorTotal: totals(row.pk) } : {}),
    }));
  },
};

/** A new floor becomes the highest of its building; floors show their zones and parents' names where they are asked for. */
export const floorBehaviour: Behaviour<typeof floors> = {
  beforeWrite({ op, after }, tx) {
    if (op !== "create" || !after) return;
    const highest = tx.one<{ rank: number | null }>(
      "SELECT max(rank) AS rank FROM floors WHERE building_pk = (SELECT pk FROM buildings WHERE id = ?)",
      after.buildingId,
    );
    after.rank = (highest?.rank ?? -1) + 1;
  },
  present(rows, context) {
    const { query } = context;
    const pks = rows.map(({ pk }) => pk);
    const withBoundary = query.includeZoneBoundaries === true;
    const zonesOf = withBoundary ? ZONES_WITH_BOUNDARY : ZONES;
    const inside = query.includeZones === true || withBoundary ? nestedIn(zonesOf, pks, context) : null;
    const totals = query.includeZoneTotal === true ? totalsIn(ZONES, pks, context) : null;
    const parents = parentNames(rows, ["site", "building"], context);
    return rows.map((row, at) => ({
      ...parents[at],
      ...externalSources(row.externalId, query),
      ...(inside ? { zones: inside(row.pk).map(withParsedBoundary) } : {}),
      ...(totals ? { zoneTotal: totals(row.pk) } : {}),
    }));
  },
};

function withParsedBoundary(zone: Record<string, unknown>): Record<string, unknown> {
  return typeof zone.boundary === "string" ? { ...zone, boundary: JSON.parse(zone.boundary) } : zone;
}

/** Zones show the names of what they lie in where they are asked for. */
export const zoneBehaviour: Behaviour<typeof zones> = {
  present(rows, context) {
    const parents = parentNames(rows, ["site", "building", "floor"], context);
    return rows.map(({ externalId }, at) => ({ ...parents[at], ...externalSources(externalId, context.query) }));
  },
};

/** What other systems call a place, where that is asked for. */
function externalSources(externalId: string | null, query: PresentContext["query"]): Record<string, unknown> {
  if (query.includeExternalSources !== true) return {};
  return { externalSources: externalId === null ? [] : [{ externalId }] };
}

/** `siteName`, `buildingName` … of each row with includeParentNames, one query a level. */
function parentNames(
  rows: readonly (RowBase & Partial<Record<`${Level}Id`, string>>)[],
  levels: readonly Level[],
  { reader, query }: PresentContext,
): Record<string, unknown>[] {
  if (query.includeParentNames !== true) return rows.map(() => ({}));
  const named = levels.map((level) => {
    const idOf = (row: (typeof rows)[number]): string => row[`${level}Id`] ?? "";
    return { level, idOf, names: namesOf(level, rows.map(idOf), reader) };
  });
  return rows.map((row) =>
    Object.fromEntries(named.map(({ level, idOf, names }) => [`${level}Name`, names.get(idOf(row)) ?? null])),
  );
}
