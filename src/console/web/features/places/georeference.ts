/** Longitude and latitude, in degrees. */
export type Position = readonly [number, number];

/** A place on a picture, in parts of its width and height from the top left corner. */
export interface PlanPoint {
  x: number;
  y: number;
}

/** Geographic position of an image, by three of its corners. */
export interface Georeference {
  topLeft: Position;
  topRight: Position;
  bottomLeft: Position;
}

/** The same as people measure it: the middle, how wide and high, and where the top points, in degrees from north by east. */
export interface GeoreferenceMeasures {
  longitude: number;
  latitude: number;
  widthM: number;
  heightM: number;
  turnedBy: number;
}

const METRES_A_DEGREE = 111_320;

/**
 * Parses a floor's `imageOrigins`: corners clockwise from the top left, four or three (without the bottom right).
 * Null for anything else.
 */
export function parseGeoreference(origins: unknown): Georeference | null {
  if (!Array.isArray(origins) || origins.length < 3 || origins.length > 4 || !origins.every(isPosition)) return null;
  const [topLeft, topRight] = origins as Position[];
  const bottomLeft = origins.at(-1) as Position;
  if (!topLeft || !topRight) return null;
  const ground = { topLeft, topRight, bottomLeft };
  // A picture without width or height shows no ground.
  return spanOf(ground) === 0 ? null : ground;
}

/** Corners of an image from its measures, clockwise from the top left. */
export function cornersOf({ longitude, latitude, widthM, heightM, turnedBy }: GeoreferenceMeasures): Position[] {
  const angle = (turnedBy * Math.PI) / 180;
  const at = (right: number, up: number): Position => [
    longitude + (right * Math.cos(angle) + up * Math.sin(angle)) / metresALongitude(latitude),
    latitude + (up * Math.cos(angle) - right * Math.sin(angle)) / METRES_A_DEGREE,
  ];
  const [w, h] = [widthM / 2, heightM / 2];
  return [at(-w, h), at(w, h), at(w, -h), at(-w, -h)];
}

/** Measures of a georeference, to centimetres and hundredths of a degree. */
export function measuresOf({ topLeft, topRight, bottomLeft }: Georeference): GeoreferenceMeasures {
  const longitude = (topRight[0] + bottomLeft[0]) / 2;
  const latitude = (topRight[1] + bottomLeft[1]) / 2;
  const metres = (from: Position, to: Position): [number, number] => [
    (to[0] - from[0]) * metresALongitude(latitude),
    (to[1] - from[1]) * METRES_A_DEGREE,
  ];
  const [east, north] = metres(topLeft, topRight);
  return {
    longitude: fine(longitude),
    latitude: fine(latitude),
    widthM: hundredths(Math.hypot(east, north)),
    heightM: hundredths(Math.hypot(...metres(topLeft, bottomLeft))),
    turnedBy: hundredths((Math.atan2(-north, east) * 180) / Math.PI),
  };
}

/** Position on the image, also beyond its edges. */
export function toPlanPoint([longitude, latitude]: Position, ground: Georeference): PlanPoint {
  const { topLeft } = ground;
  const [right, down] = axesOf(ground);
  const [east, north] = [longitude - topLeft[0], latitude - topLeft[1]];
  const span = spanOf(ground);
  return { x: (east * down[1] - north * down[0]) / span, y: (right[0] * north - right[1] * east) / span };
}

/** The position that a place on the picture shows. */
export function toPosition({ x, y }: PlanPoint, ground: Georeference): Position {
  const { topLeft } = ground;
  const [right, down] = axesOf(ground);
  return [topLeft[0] + x * right[0] + y * down[0], topLeft[1] + x * right[1] + y * down[1]];
}

/**
 * Outline of a zone or floor on the image: `[x, y]` fractions as they are, a GeoJSON polygon (bare or feature)
 * through the georeference; null for anything else, or without a georeference.
 */
export function outlineOf(boundary: unknown, ground: Georeference | null): PlanPoint[] | null {
  if (Array.isArray(boundary)) {
    const isPart = (each: unknown) => isPosition(each) && each.every((part) => part >= 0 && part <= 1);
    return boundary.length >= 3 && boundary.every(isPart) ? (boundary as Position[]).map(([x, y]) => ({ x, y })) : null;
  }
  const ring = ringOf(boundary);
  return ring && ground ? ring.map((position) => toPlanPoint(position, ground)) : null;
}

/** The middle of an outline. */
export function centerOf(outline: readonly PlanPoint[]): PlanPoint {
  const mean = (of: (point: PlanPoint) => number) => outline.reduce((sum, each) => sum + of(each), 0) / outline.length;
  return { x: mean(({ x }) => x), y: mean(({ y }) => y) };
}

function ringOf(boundary: unknown): Position[] | null {
  const { type, geometry, coordinates } = (boundary ?? {}) as Record<string, unknown>;
  if (type === "Feature") return ringOf(geometry);
  const ring: unknown = type === "Polygon" && Array.isArray(coordinates) ? coordinates[0] : null;
  return Array.isArray(ring) && ring.length >= 3 && ring.every(isPosition) ? ring : null;
}

function axesOf({ topLeft, topRight, bottomLeft }: Georeference): [Position, Position] {
  return [
    [topRight[0] - topLeft[0], topRight[1] - topLeft[1]],
    [bottomLeft[0] - topLeft[0], bottomLeft[1] - topLeft[1]],
  ];
}

function spanOf(ground: Georeference): number {
  const [right, down] = axesOf(ground);
  return right[0] * down[1] - right[1] * down[0];
}

function isPosition(value: unknown): value is Position {
  return Array.isArray(value) && value.length >= 2 && Number.isFinite(value[0]) && Number.isFinite(value[1]);
}

function metresALongitude(latitude: number): number {
  return METRES_A_DEGREE * Math.cos((latitude * Math.PI) / 180);
}

function hundredths(value: number): number {
  // Turns -0 into 0.
  return Math.round(value * 100) / 100 + 0;
}

/** Degrees to about a centimetre. */
function fine(degrees: number): number {
  return Math.round(degrees * 1e7) / 1e7;
}
