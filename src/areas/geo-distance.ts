/** Mean radius of the Earth. @source IUGG, R1 */
const EARTH_RADIUS_M = 6_371_008.8;
const DEGREE = Math.PI / 180;

/** A point on the Earth, in degrees. */
export interface GeoPoint {
  /** -180..180 */
  longitude: number;
  /** -90..90 */
  latitude: number;
}

/** Great-circle distance in metres, also over the antimeridian and the poles (haversine). */
export function distanceMetres(a: GeoPoint, b: GeoPoint): number {
  const half = (degrees: number): number => Math.sin((degrees * DEGREE) / 2) ** 2;
  const h =
    half(b.latitude - a.latitude) +
    Math.cos(a.latitude * DEGREE) * Math.cos(b.latitude * DEGREE) * half(b.longitude - a.longitude);
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(h)));
}

/**
 * Latitude of the point of a full meridian that is nearest to a point, in degrees; beyond ±90 if that is across a pole.
 * `apart` is the difference in longitude, in degrees.
 */
export function nearestLatitudeOnMeridian(latitude: number, apart: number): number {
  return Math.atan2(Math.sin(latitude * DEGREE), Math.cos(latitude * DEGREE) * Math.cos(apart * DEGREE)) / DEGREE;
}
