import type { ReceivedAlertArea } from "./alert.ts";

export interface Circle {
  latitude: number;
  longitude: number;
  radiusM: number;
}

/** Metres per degree of latitude, for a mean earth radius of 6,371 km. */
const DEGREE_M = 111_195;
const KM_M = 1_000;

type PlanePoint = readonly [x: number, y: number];

/**
 * True if an alert's polygons or circles intersect a circle. Computed on a plane around the circle's centre: within
 * some hundred km the error is a few thousandths.
 */
export function intersectsCircle(
  { polygons, circles }: Pick<ReceivedAlertArea, "polygons" | "circles">,
  circle: Circle,
): boolean {
  const toPlane = projectionAround(circle);
  return (
    polygons.some((text) => intersectsRing(parsePoints(text).map(toPlane), circle.radiusM)) ||
    circles.some((text) => {
      const { centre, km } = parseCircle(text);
      return isPoint(centre) && Math.hypot(...toPlane(centre)) <= circle.radiusM + km * KM_M;
    })
  );
}

/** True if all shapes of an area can be read, and it has any. */
export function hasReadableShapes({ polygons, circles }: Pick<ReceivedAlertArea, "polygons" | "circles">): boolean {
  const isRing = (text: string): boolean => {
    const points = pairsIn(text);
    return points.length >= 3 && points.every(isPoint);
  };
  const isCircle = (text: string): boolean => {
    const { centre, km } = parseCircle(text);
    return isPoint(centre) && km >= 0;
  };
  return polygons.length + circles.length > 0 && polygons.every(isRing) && circles.every(isCircle);
}

type Pair = number[];

/** `lat,lon` pairs; some authorities write blanks around the commas. */
function pairsIn(text: string): Pair[] {
  const words = text
    .trim()
    .replace(/\s*,\s*/g, ",")
    .split(/\s+/);
  return words.map((word) => word.split(",").map((part) => (part === "" ? Number.NaN : Number(part))));
}

function isPoint(pair: Pair): pair is [latitude: number, longitude: number] {
  const [latitude = Number.NaN, longitude = Number.NaN] = pair;
  return pair.length === 2 && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 360;
}

function parsePoints(text: string): [latitude: number, longitude: number][] {
  return pairsIn(text).filter(isPoint);
}

function parseCircle(text: string): { centre: Pair; km: number } {
  const [centre = [], [km = Number.NaN] = []] = pairsIn(text);
  return { centre, km };
}

function projectionAround({ latitude, longitude }: Circle): (point: readonly [number, number]) => PlanePoint {
  const shrink = Math.cos((latitude * Math.PI) / 180);
  return ([lat, lon]) => {
    // Shortest difference of longitude, also across the antimeridian.
    const east = ((lon - longitude + 540) % 360) - 180;
    return [east * DEGREE_M * shrink, (lat - latitude) * DEGREE_M];
  };
}

/** True if the centre is inside the ring or an edge is within the radius. */
function intersectsRing(ring: readonly PlanePoint[], radiusM: number): boolean {
  if (ring.length < 3) return false;
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
