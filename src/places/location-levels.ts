import buildings from "../resources/places/buildings.ts";
import floors from "../resources/places/floors.ts";
import sites from "../resources/places/sites.ts";
import zones from "../resources/places/zones.ts";
import type { AnyResource } from "../schema/resource.ts";

/** Levels of a location, widest to narrowest. */
export const LOCATION_LEVELS = ["site", "building", "floor", "zone"] as const;
export type LocationLevel = (typeof LOCATION_LEVELS)[number];

/** A location by the ids of its levels; null below the narrowest given level. */
export type Location = Record<`${LocationLevel}Id`, string | null>;

export const NO_LOCATION: Location = { siteId: null, buildingId: null, floorId: null, zoneId: null };

/** Resource of each level. */
export const RESOURCE_BY_LEVEL: Readonly<Record<LocationLevel, AnyResource>> = {
  site: sites,
  building: buildings,
  floor: floors,
  zone: zones,
};

/** A row of any level with the ids of its parents. */
export interface LocationRow {
  id: string;
  name: string;
  externalId: string | null;
  siteId?: string;
  buildingId?: string;
  floorId?: string;
}

/** Location of a row, with all levels above it. */
export function locationOfRow(level: LocationLevel, row: LocationRow): Location {
  const { siteId = null, buildingId = null, floorId = null } = row;
  return { siteId, buildingId, floorId, zoneId: null, [`${level}Id`]: row.id };
}
