/** Visible part of a map, in degrees. */
export interface MapView {
  west: number;
  south: number;
  east: number;
  north: number;
}

/** Lines of equal longitude and latitude. */
export interface Graticule {
  longitudes: number[];
  latitudes: number[];
  /** Digits behind the point that tell the lines apart. */
  digits: number;
}

const STEPS = [90, 45, 30, 20, 10, 5, 2, 1];
const MIN_STEP = 1e-7;

/** Lines of a view at round degrees, about `most` per direction, with the same step for both. */
export function graticuleOf({ west, south, east, north }: MapView, most: number): Graticule {
  const step = stepFor(Math.max(east - west, north - south) / most);
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const lines = (from: number, to: number): number[] => {
    const first = Math.ceil(from / step);
    const count = Math.max(0, Math.floor(to / step) - first + 1);
    return Array.from({ length: count }, (_, at) => Number(((first + at) * step).toFixed(digits)));
  };
  return { longitudes: lines(west, east), latitudes: lines(Math.max(-90, south), Math.min(90, north)), digits };
}

/** The smallest round step that is not less than `least`. */
function stepFor(least: number): number {
  const whole = STEPS.findLast((step) => step >= least);
  if (whole === undefined) return STEPS[0] ?? 90;
  if (least > 1 || least <= 0) return least <= 0 ? MIN_STEP : whole;
  const scale = 10 ** Math.floor(Math.log10(least));
  return Math.max(MIN_STEP, [1, 2, 5, 10].map((part) => part * scale).find((step) => step >= least - 1e-12) ?? scale);
}

/** A longitude as maps write it, such as `9.5° E`. */
export function longitudeText(degrees: number, digits: number): string {
  // A map may be moved round the earth.
  const within = ((((degrees + 180) % 360) + 360) % 360) - 180;
  return `${Math.abs(within).toFixed(digits)}°${within === 0 ? "" : within > 0 ? " E" : " W"}`;
}

/** A latitude as maps write it. */
export function latitudeText(degrees: number, digits: number): string {
  return `${Math.abs(degrees).toFixed(digits)}°${degrees === 0 ? "" : degrees > 0 ? " N" : " S"}`;
}
