/** The same questions answered another way: points on a unit sphere as vectors. Shares nothing with what it judges. */
const RADIUS_M = 6_371_008.8;

type Vector = readonly [number, number, number];

function vectorOf(longitude: number, latitude: number): Vector {
  const [lambda, phi] = [(longitude / 180) * Math.PI, (latitude / 180) * Math.PI];
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
}

/** Metres along the great circle, by the angle between two vectors. */
export function arcM(a: readonly [number, number], b: readonly [number, number]): number {
  const [u, v] = [vectorOf(...a), vectorOf(...b)];
  const cross = Math.hypot(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]);
  return RADIUS_M * Math.atan2(cross, u[0] * v[0] + u[1] * v[1] + u[2] * v[2]);
}

/** Where one comes from a place by going `metres` towards `bearing` (degrees): Rodrigues' rotation of the vector. */
export function travel(
  [longitude, latitude]: readonly [number, number],
  bearing: number,
  metres: number,
): [number, number] {
  const p = vectorOf(longitude, latitude);
  const lambda = (longitude / 180) * Math.PI;
  const phi = (latitude / 180) * Math.PI;
  const north: Vector = [-Math.sin(phi) * Math.cos(lambda), -Math.sin(phi) * Math.sin(lambda), Math.cos(phi)];
  const east: Vector = [-Math.sin(lambda), Math.cos(lambda), 0];
  const b = (bearing / 180) * Math.PI;
  const angle = metres / RADIUS_M;
  const moved = p.map(
    (x, at) =>
      x * Math.cos(angle) +
      ((north[at] as number) * Math.cos(b) + (east[at] as number) * Math.sin(b)) * Math.sin(angle),
  ) as unknown as Vector;
  const round = (value: number): number => Math.round(value * 1e7) / 1e7;
  return [
    round((Math.atan2(moved[1], moved[0]) / Math.PI) * 180),
    round((Math.atan2(moved[2], Math.hypot(moved[0], moved[1])) / Math.PI) * 180),
  ];
}

/** Random numbers in 0..1 that follow from a seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
