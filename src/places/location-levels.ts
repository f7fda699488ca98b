import buildings from "../resources/places/buildings.ts";
import floors from "../resources/places/floors.ts";
import sites from "../resources/places/sites.ts";
import zones from "../resources/places/zones.ts";
import type { AnyResource } from "../schema/resource.ts";

/** How exactly a place is told, from the widest to the narrowest. */
export const LOCATION_LEVELS = ["site", "building", "floor", "zone"] as const;
/** One of them. */
export type LocationLevel = (typeof LOCATION_LEVELS)[number];

/** A place by the ids of its levels; null from the first level on that is not told. */
export type Location = Record<`${LocationLevel}Id`, string | null>;

/** No place at all. */
export const NO_LOCATION: Location = { siteId: null, buildingId: null, floorId: null, zoneId: null };

/** The resource whose rows a level names. */
export const RESOURCE_BY_LEVEL: Readonly<Record<LocationLevel, AnyResource>> = {
  site: sites,
  building: buildings,
  floor: floors,
  zone: zones,
};

/** A row of any level; those above it are named by ids that a site has none of. */
export interface LocationRow {
  id: string;
  name: string;
  externalId: string | null;
  siteId?: string;
  buildingId?: string;
  floorId?: string;
}

/** The place of a row of a level, with all levels above it. */
export function locationOfRow(level: LocationLevel, row: LocationRow): Location {
  const { siteId = null, buildingId = null, floorId = null } = row;
  return { siteId, buildingId, floorId, zoneId: null, [`${level}Id`]: row.id };
}
