import { expect, it } from "vitest";
import type { AreaCircle } from "../../../src/areas/area-geometry.ts";
import { circleTouchesBox, parseBoundingBox } from "../../../src/areas/bounding-box.ts";
import { distanceMetres } from "../../../src/areas/geo-distance.ts";
import { detectCrossings } from "../../../src/areas/position-reports.ts";
import { openAreas } from "./areas-fixture.ts";
import { arcM, seeded, travel } from "./geodesy-oracle.ts";
import { walkTriggers } from "./trigger-simulation.ts";

const circle = (id: string, [longitude, latitude]: readonly [number, number], radiusM: number): AreaCircle => ({
  ...{ id, radiusM, deviceKinds: [] },
  centre: { longitude, latitude },
});

const PLACES: readonly (readonly [number, number])[] = [
  [13.4, 52.5],
  [180, 0],
  [-180, 67.2],
  [179.999, -17.7],
  [-179.99, 51],
  [0, 90],
  [77, -90],
  [120, 89.995],
  [-30, -89.99],
  [0, 0],
];

it("1,000 tracks cross the edges that another way of reckoning finds, also over the antimeridian and the poles", () => {
  const random = seeded(20_261_121);
  let [crossed, onEdge] = [0, 0];
  for (let track = 0; track < 1_000; track++) {
    const start = PLACES[track % PLACES.length] as readonly [number, number];
    const circles = Array.from({ length: 4 }, (_, n) => {
      const centre = travel(start, random() * 360, random() * 3_000);
      return circle(`a${n}`, centre, 200 + random() * 4_000);
    });
    const inside = new Set<string>();
    const known = new Map<string, boolean>();
    let at = travel(start, random() * 360, random() * 8_000);
    for (let step = 0; step < 25; step++) {
      at = travel(at, random() * 360, random() * 3_000);
      const accuracyM = random() < 0.3 ? random() * 500 : 5;
      const [longitude, latitude] = at;
      const found = detectCrossings(circles, inside, { longitude, latitude, accuracyM }, { type: "Android" });
      const expected = { entered: [] as string[], exited: [] as string[] };
      for (const { id, centre, radiusM } of circles) {
        const distance = arcM([centre.longitude, centre.latitude], at);
        const was = known.get(id) ?? false;
        const far = distance - accuracyM > radiusM;
        const near = radiusM - accuracyM >= distance;
        if (!far && !near) onEdge++;
        if (near && !was) expected.entered.push(id);
        if (far && was) expected.exited.push(id);
        known.set(id, near || (was && !far));
      }
      expect({ track, step, ...found }).toEqual({ track, step, ...expected });
      for (const id of found.entered) inside.add(id);
      for (const id of found.exited) inside.delete(id);
      crossed += found.entered.length + found.exited.length;
    }
  }
  expect(crossed).toBeGreaterThan(5_000);
  expect(onEdge).toBeGreaterThan(1_000);
});

it("triggers fire by random tracks as another reckoning has it, with their people and their rest", async () => {
  const scene = await openAreas(true);
  try {
    const { acted, expected } = await walkTriggers(scene, 1_000, 3);
    expect(acted).toEqual(expected);
    expect(acted.length).toBeGreaterThan(1_000);
  } finally {
    await scene.close();
  }
});

it("measures great circles", () => {
  const metres = (a: readonly [number, number], b: readonly [number, number]): number =>
    distanceMetres({ longitude: a[0], latitude: a[1] }, { longitude: b[0], latitude: b[1] });
  expect(metres([179.9, 0], [-179.9, 0])).toBeCloseTo(22_239, 0);
  expect(metres([10, 89.9], [-170, 89.9])).toBeCloseTo(22_239, 0);
  expect(metres([0, 0], [180, 0])).toBeCloseTo(Math.PI * 6_371_008.8, 0);
  expect(metres([5, 5], [5, 5])).toBe(0);
});

it("a bounding box holds the circles of which any point lies in it", () => {
  const random = seeded(7);
  for (let n = 0; n < 400; n++) {
    const centre = travel(PLACES[n % PLACES.length] as readonly [number, number], random() * 360, random() * 2e5);
    const radiusM = 1_000 + random() * 2e5;
    const corner = travel(centre, random() * 360, random() * 6e5);
    const width = random() * 6;
    const west = corner[0];
    const east = ((west + width + 540) % 360) - 180;
    const [south, north] = [Math.max(-90, corner[1] - random() * 3), Math.min(90, corner[1] + random() * 3)];
    const box = { west, south, east, north };
    // The nearest of many points of the box.
    let nearest = Number.POSITIVE_INFINITY;
    for (let i = 0; i <= 60; i++) {
      for (let j = 0; j <= 60; j++) {
        const point = [west + (width * i) / 60, south + ((north - south) * j) / 60] as const;
        nearest = Math.min(nearest, arcM(centre, point));
      }
    }
    if (Math.abs(nearest - radiusM) < 15_000) continue;
    expect([n, circleTouchesBox(circle("a", centre, radiusM), box)]).toEqual([n, nearest < radiusM]);
  }
});

it("a bounding box is four numbers in degrees", () => {
  expect(parseBoundingBox("170, -20,-170,-10")).toEqual({ west: 170, south: -20, east: -170, north: -10 });
  for (const text of ["", "1,2,3", "1,2,3,4,5", "1,2,3,x", "1,5,3,2", "181,0,0,0", "0,-91,1,1", "1,,3,4"]) {
    expect(() => parseBoundingBox(text)).toThrow(/boundingBox/);
  }
});
