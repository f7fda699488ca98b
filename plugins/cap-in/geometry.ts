import type { ReceivedAlertArea } from "./alert.ts";

export interface Circle {
  latitude: number;
  longitude: number;
  radiusM: number;
}

type Point = readonly [latitude: number, longitude: number];
type PlanePoint = readonly [x: number, y: number];

/** South, west, north and east ends of what a feed covers. */
export type Region = readonly [south: number, west: number, north: number, east: number];

/** Shapes of an area as they were read. */
export interface AreaShapes {
  rings: Point[][];
  circles: Circle[];
  /** False if it has no shape or one that cannot be read. */
  isReadable: boolean;
}

/** Metres per degree of latitude, for a mean earth radius of 6,371 km. */
const DEGREE_M = 111_195;
const KM_M = 1_000;

/**
 * Reads polygons and circles. Pairs that can only be longitude and latitude are swapped: because one of them is no latitude, or
 * because they lie in the feed's region only so.
 */
export function readShapes(
  { polygons, circles }: Pick<ReceivedAlertArea, "polygons" | "circles">,
  region: Region | null = null,
): AreaShapes {
  const rings = polygons.map((text) => readPoints(pairsIn(text), region));
  const discs = circles.map((text) => readCircle(text, region));
  const isRing = ({ points }: { points: Point[] }): boolean => points.length >= 3;
  return {
    rings: rings.filter(isRing).map(({ points }) => points),
    circles: discs.filter((disc) => disc !== null),
    isReadable:
      rings.length + discs.length > 0 && rings.every((ring) => ring.isWhole && isRing(ring)) && !discs.includes(null),
  };
}

/**
 * True if shapes intersect a circle. Computed on a plane around the circle's centre: within some hundred km the error is a few
 * thousandths.
 */
export function shapesIntersect({ rings, circles }: AreaShapes, circle: Circle): boolean {
  const toPlane = projectionAround(circle);
  return (
    rings.some((ring) => intersectsRing(ring.map(toPlane), circle.radiusM)) ||
    circles.some((each) => Math.hypot(...toPlane([each.latitude, each.longitude])) <= circle.radiusM + each.radiusM)
  );
}

/** The shapes as if they had been written with longitude first; those that then are no shapes are left out. */
export function swapped({ rings, circles }: AreaShapes): AreaShapes {
  return {
    rings: rings.map((ring) => ring.map(swap).filter(isPoint)).filter((ring) => ring.length >= 3),
    circles: circles
      .map(({ latitude, longitude, radiusM }) => ({ latitude: longitude, longitude: latitude, radiusM }))
      .filter(({ latitude, longitude }) => isPoint([latitude, longitude])),
    isReadable: true,
  };
}

type Pair = readonly number[];

/** `lat,lon` pairs; some authorities write blanks or line breaks around commas, semicolons between pairs, or blanks only. */
function pairsIn(text: string): Pair[] {
  const clean = text.trim().replaceAll("\u2212", "-");
  if (clean === "") return [];
  if (!/[,;]/.test(clean)) {
    const numbers = clean.split(/\s+/).map(readNumber);
    return Array.from({ length: Math.ceil(numbers.length / 2) }, (_, at) => numbers.slice(at * 2, at * 2 + 2));
  }
  const words = clean.replace(/\s*,\s*/g, ",").split(/[\s;]+/);
  return words.filter((word) => word !== "").map((word) => word.split(",").map(readNumber));
}

function readNumber(text: string): number {
  return /^[+-]?\d/.test(text) || /^[+-]?\.\d/.test(text) ? Number(text) : Number.NaN;
}

/** Points, and whether all pairs are points. */
function readPoints(pairs: readonly Pair[], region: Region | null): { points: Point[]; isWhole: boolean } {
  const [straight, turned] = [pairs.filter(isPoint), pairs.map(swap).filter(isPoint)];
  const isWhole = straight.length === pairs.length;
  if (turned.length < pairs.length) return { points: straight, isWhole };
  const isWithinRegion = (point: Point): boolean => region !== null && isWithin(point, region);
  const isTurned = !isWhole || (turned.some(isWithinRegion) && !straight.some(isWithinRegion));
  return { points: isTurned ? turned : straight, isWhole: true };
}

function readCircle(text: string, region: Region | null): Circle | null {
  const clean = text
    .trim()
    .replaceAll("\u2212", "-")
    .replace(/\s*,\s*/g, ",");
  const [centre = "", radius = "", ...more] = clean.split(/\s+/);
  const [point] = readPoints(pairsIn(centre), region).points;
  const km = readNumber(radius);
  if (!point || !(km >= 0) || more.length > 0) return null;
  const [latitude, longitude] = point;
  return { latitude, longitude, radiusM: km * KM_M };
}

function swap(pair: Pair): Pair {
  return [...pair].reverse();
}

function isPoint(pair: Pair): pair is Point {
  const [latitude = Number.NaN, longitude = Number.NaN] = pair;
  return pair.length === 2 && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 360;
}

function isWithin([latitude, longitude]: Point, [south, west, north, east]: Region): boolean {
  return latitude >= south && latitude <= north && longitude >= west && longitude <= east;
}

function projectionAround({ latitude, longitude }: Circle): (point: Point) => PlanePoint {
  const shrink = Math.cos((latitude * Math.PI) / 180);
  return ([lat, lon]) => {
    // Shortest difference of longitude, also across the antimeridian.
    const east = ((lon - longitude + 900) % 360) - 180;
    return [east * DEGREE_M * shrink, (lat - latitude) * DEGREE_M];
  };
}

/** True if the centre is inside the ring or an edge is within the radius. */
function intersectsRing(ring: readonly PlanePoint[], radiusM: number): boolean {
  let inside = false;
  for (const [at, end] of ring.entries()) {
    const start = ring[(at + ring.length - 1) % ring.length] as PlanePoint;
    if (distanceToEdge(start, end) <= radiusM) return true;
    const [[x1, y1], [x2, y2]] = [start, end];
    // Ray casting from the centre to the east.
    if (y1 > 0 !== y2 > 0 && x1 + (-y1 / (y2 - y1)) * (x2 - x1) > 0) inside = !inside;
  }
  return inside;
}

/** Distance from the centre, which is the plane's origin. */
function distanceToEdge([x1, y1]: PlanePoint, [x2, y2]: PlanePoint): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : Math.min(1, Math.max(0, -(x1 * dx + y1 * dy) / length));
  return Math.hypot(x1 + along * dx, y1 + along * dy);
}
