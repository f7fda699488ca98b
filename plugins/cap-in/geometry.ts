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
      const [centre = "", km = ""] = text.trim().split(/\s+/);
      const [point] = parsePoints(centre).map(toPlane);
      return point !== undefined && Math.hypot(...point) <= circle.radiusM + Number(km) * KM_M;
    })
  );
}

function parsePoints(text: string): [latitude: number, longitude: number][] {
  return text
    .trim()
    .split(/\s+/)
    .map((pair) => pair.split(",").map(Number))
    .filter((pair): pair is [number, number] => pair.length === 2 && pair.every(Number.isFinite));
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
