import buildings from "../resources/places/buildings.ts";
import floors from "../resources/places/floors.ts";
import type sites from "../resources/places/sites.ts";
import zones from "../resources/places/zones.ts";
import type { RowBase } from "../schema/resource.ts";
import type { PresentContext, ResourceHooks } from "../store/store.ts";
import { type ChildPlaceQuery, childPlaceCounts, childPlacesOf } from "./child-places.ts";
import type { LocationLevel } from "./location-levels.ts";
import { placeNamesById } from "./location-names.ts";

const NAME_COLUMNS = "t.id, t.name, t.external_id AS externalId";
const BUILDINGS: ChildPlaceQuery = {
  resource: buildings,
  column: "site_pk",
  members: NAME_COLUMNS,
  order: "t.name, t.pk",
};
const EMERGENCY_BUILDINGS: ChildPlaceQuery = { ...BUILDINGS, condition: "t.emergency = 1" };
const FLOORS: ChildPlaceQuery = {
  resource: floors,
  column: "building_pk",
  members: `${NAME_COLUMNS}, t.type, t.rank`,
  order: "t.rank, t.pk",
};
const ZONES: ChildPlaceQuery = {
  resource: zones,
  column: "floor_pk",
  members: `${NAME_COLUMNS}, t.type, NULL AS boundary`,
  order: "t.name, t.pk",
};
const ZONES_WITH_BOUNDARY: ChildPlaceQuery = { ...ZONES, members: `${NAME_COLUMNS}, t.type, t.boundary` };

/** Serializes the buildings of a site, and for a role its recipient at the site, if requested. */
export const siteHooks: ResourceHooks<typeof sites> = {
  present(rows, context) {
    const { query } = context;
    const pks = rows.map(({ pk }) => pk);
    const inside = query.includeBuildings === true ? childPlacesOf(BUILDINGS, pks, context) : null;
    const known = query.includeEmergencyBuildings === true ? childPlacesOf(EMERGENCY_BUILDINGS, pks, context) : null;
    const totals = query.includeBuildingTotal === true ? childPlaceCounts(BUILDINGS, pks, context) : null;
    const players = context.params.siteRoleId === undefined ? null : siteRecipientIds(pks, context);
    return rows.map(({ pk, externalId }) => ({
      ...(query.includeSources === false ? { sources: undefined } : {}),
      ...externalSourcesOf(externalId, query),
      ...(inside ? { buildings: inside(pk) } : {}),
      ...(known ? { emergencyBuildings: known(pk) } : {}),
      ...(totals ? { buildingTotal: totals(pk) } : {}),
      ...(players ? { siteRecipientId: players.get(pk) ?? null } : {}),
    }));
  },
};

/** Ids of the recipients of the path's role, by internal key of their site. */
function siteRecipientIds(pks: readonly number[], { reader, params }: PresentContext): Map<number, string> {
  const lines = reader.all<{ site: number; id: string }>(
    `SELECT p.site_pk AS site, p.id FROM site_recipients p JOIN site_roles r ON r.pk = p.site_role_pk
     WHERE r.id = ? AND p.site_pk IN (SELECT value FROM json_each(?))`,
    params.siteRoleId ?? "",
    JSON.stringify(pks),
  );
  return new Map(lines.map(({ site, id }) => [site, id]));
}

/** Serializes the floors of a building and the name of its site if requested. */
export const buildingHooks: ResourceHooks<typeof buildings> = {
  present(rows, context) {
    const { query } = context;
    const pks = rows.map(({ pk }) => pk);
    const inside = query.includeFloors === true ? childPlacesOf(FLOORS, pks, context) : null;
    const totals = query.includeFloorTotal === true ? childPlaceCounts(FLOORS, pks, context) : null;
    const parents = parentNames(rows, ["site"], context);
    return rows.map((row, at) => ({
      ...parents[at],
      ...externalSourcesOf(row.externalId, query),
      ...(inside ? { floors: inside(row.pk) } : {}),
      ...(totals ? { floorTotal: totals(row.pk) } : {}),
    }));
  },
};

/** A new floor becomes the highest of its building. Serializes zones and parent names if requested. */
export const floorHooks: ResourceHooks<typeof floors> = {
  beforeWrite({ op, after }, tx, by) {
    // A replicated floor arrives before or after the others of its building, and has its place among them.
    if (op !== "create" || !after || by.replicated) return;
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
    const inside = query.includeZones === true || withBoundary ? childPlacesOf(zonesOf, pks, context) : null;
    const totals = query.includeZoneTotal === true ? childPlaceCounts(ZONES, pks, context) : null;
    const parents = parentNames(rows, ["site", "building"], context);
    return rows.map((row, at) => ({
      ...parents[at],
      ...externalSourcesOf(row.externalId, query),
      ...(inside ? { zones: inside(row.pk).map(withParsedBoundary) } : {}),
      ...(totals ? { zoneTotal: totals(row.pk) } : {}),
    }));
  },
};

function withParsedBoundary(zone: Record<string, unknown>): Record<string, unknown> {
  return typeof zone.boundary === "string" ? { ...zone, boundary: JSON.parse(zone.boundary) } : zone;
}

/** Serializes the names of a zone's parents if requested. */
export const zoneHooks: ResourceHooks<typeof zones> = {
  present(rows, context) {
    const parents = parentNames(rows, ["site", "building", "floor"], context);
    return rows.map(({ externalId }, at) => ({ ...parents[at], ...externalSourcesOf(externalId, context.query) }));
  },
};

/** External ids of a place, if requested. */
function externalSourcesOf(externalId: string | null, query: PresentContext["query"]): Record<string, unknown> {
  if (query.includeExternalSources !== true) return {};
  return { externalSources: externalId === null ? [] : [{ externalId }] };
}

/** `siteName`, `buildingName` … of each row with includeParentNames, one query per level. */
function parentNames(
  rows: readonly (RowBase & Partial<Record<`${LocationLevel}Id`, string>>)[],
  levels: readonly LocationLevel[],
  { reader, query }: PresentContext,
): Record<string, unknown>[] {
  if (query.includeParentNames !== true) return rows.map(() => ({}));
  const named = levels.map((level) => {
    const idOf = (row: (typeof rows)[number]): string => row[`${level}Id`] ?? "";
    return { level, idOf, names: placeNamesById(level, rows.map(idOf), reader) };
  });
  return rows.map((row) =>
    Object.fromEntries(named.map(({ level, idOf, names }) => [`${level}Name`, names.get(idOf(row)) ?? null])),
  );
}
