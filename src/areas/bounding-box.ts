import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { AreaCircle } from "./area-geometry.ts";
import { distanceMetres, type GeoPoint, nearestLatitudeOnMeridian } from "./geo-distance.ts";

/** A region between two meridians and two parallels, in degrees; `west` > `east` crosses the antimeridian. */
export interface BoundingBox {
  west: number;
  south: number;
  east: number;
  north: number;
}

const FIELD = "boundingBox";

/** Parses `minLon,minLat,maxLon,maxLat`. Throws CallerError. @source docs/decisions/0005-users-and-devices.md, Location */
export function parseBoundingBox(text: string): BoundingBox {
  const numbers = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  const [west = Number.NaN, south = Number.NaN, east = Number.NaN, north = Number.NaN] = numbers;
  const isLongitude = (value: number): boolean => Math.abs(value) <= 180;
  const isLatitude = (value: number): boolean => Math.abs(value) <= 90;
  if (numbers.length !== 4 || ![west, east].every(isLongitude) || ![south, north].every(isLatitude) || south > north) {
    throw invalidValue(FIELD, sentence("field.must-be-minlon-minlat-maxlon-maxlat-in-degrees-with-minlat"));
  }
  return { west, south, east, north };
}

/** True if any part of the circle is inside the box. */
export function circleTouchesBox({ centre, radiusM }: AreaCircle, box: BoundingBox): boolean {
  if (isLongitudeInside(centre.longitude, box)) {
    const latitude = Math.min(box.north, Math.max(box.south, centre.latitude));
    if (distanceMetres(centre, { ...centre, latitude }) <= radiusM) return true;
  }
  return [box.west, box.east].some((longitude) => distanceToMeridian(centre, longitude, box) <= radiusM);
}

function isLongitudeInside(longitude: number, { west, east }: BoundingBox): boolean {
  return west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east;
}

/** Distance to the part of a meridian between the parallels of the box: the minimum over its ends and the nearest point between them. */
function distanceToMeridian(point: GeoPoint, longitude: number, { south, north }: BoundingBox): number {
  const nearest = nearestLatitudeOnMeridian(point.latitude, longitude - point.longitude);
  const inner = nearest > south && nearest < north ? [nearest] : [];
  return Math.min(...[south, north, ...inner].map((latitude) => distanceMetres(point, { longitude, latitude })));
}
