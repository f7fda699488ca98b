import type { RouteParams, RouteQuery } from "../../api/routes.ts";

/** The kinds of places, each within the one before. */
export const PLACE_TYPES = ["site", "building", "floor", "zone"] as const;

/** A kind of place. */
export type PlaceLevel = (typeof PLACE_TYPES)[number];

const BUILDINGS = "sites/{siteId}/buildings";
const FLOORS = `${BUILDINGS}/{buildingId}/floors` as const;
const ZONES = `${FLOORS}/{floorId}/zones` as const;

/** API route and query of each place level. */
export const PLACE_ROUTES = {
  site: { collection: "sites", item: "sites/{siteId}", query: { includeBuildingTotal: true, sort: "name" } },
  building: {
    collection: BUILDINGS,
    item: `${BUILDINGS}/{buildingId}`,
    query: { includeFloorTotal: true, sort: "name" },
  },
  // As a house stands: the highest floor on top.
  floor: { collection: FLOORS, item: `${FLOORS}/{floorId}`, query: { includeZoneTotal: true, sort: "-rank" } },
  zone: { collection: ZONES, item: `${ZONES}/{zoneId}`, query: { sort: "name" } },
} as const satisfies Record<PlaceLevel, { collection: string; item: string; query: RouteQuery }>;

/** A place by the ids from its site down; the length gives its level. */
export type PlacePath = readonly string[];

/** Level of a place; of its children with one id more. Undefined below a zone. */
export function placeLevelOf(path: PlacePath): PlaceLevel | undefined {
  return PLACE_TYPES[path.length - 1];
}

/** The ids of a path by the names that routes have for them. */
export function placeRouteParams(path: PlacePath): RouteParams {
  return Object.fromEntries(path.flatMap((id, at) => (PLACE_TYPES[at] ? [[`${PLACE_TYPES[at]}Id`, id]] : [])));
}

/** A place in the address: ids from the site down. */
export function placePathText(path: PlacePath): string {
  return path.join("/");
}

/** Parses the path in the address; empty for none, cut off below zones. */
export function parsePlacePath(text: string | undefined): PlacePath {
  return (text ?? "").split("/").filter(Boolean).slice(0, PLACE_TYPES.length);
}

/** Paths of all parents, the site first. */
export function parentPaths(path: PlacePath): PlacePath[] {
  return path.slice(0, -1).map((_, at) => path.slice(0, at + 1));
}

/** Any place, with how many lie directly in it. */
export interface PlaceRow {
  id: string;
  name: string;
  permissions: readonly string[];
  buildingTotal?: number;
  floorTotal?: number;
  zoneTotal?: number;
}

/** How many places lie directly in one. */
export function childCount({ buildingTotal, floorTotal, zoneTotal }: PlaceRow): number {
  return buildingTotal ?? floorTotal ?? zoneTotal ?? 0;
}
