import { describe, expect, it } from "vitest";
import {
  areaBody,
  areaDraftOf,
  isAreaComplete,
  withCenter,
  withRadius,
} from "../../../../src/console/web/features/areas/area-draft.ts";
import { brandedColors, isReadableColor } from "../../../../src/console/web/features/branding/branding-colors.ts";
import {
  centerOf,
  cornersOf,
  measuresOf,
  outlineOf,
  parseGeoreference,
  toPlanPoint,
  toPosition,
} from "../../../../src/console/web/features/places/georeference.ts";
import {
  parentPaths,
  parsePlacePath,
  placeLevelOf,
  placeRouteParams,
} from "../../../../src/console/web/features/places/place-levels.ts";
import { boundaryOf, boxAround, typedBox } from "../../../../src/console/web/features/places/plan-box.ts";
import { bodyWith, type FormField, parentIds, withValue } from "../../../../src/console/web/ui/form/form-fields.ts";
import { graticuleOf, latitudeText, longitudeText } from "../../../../src/console/web/ui/map/graticule.ts";

const MEASURES = { longitude: 9.75, latitude: 47.5, widthM: 120, heightM: 80, turnedBy: 30 };

describe("a georeferenced plan", () => {
  it("keeps its measured size at any rotation", () => {
    for (const turnedBy of [-135, 0, 30, 90, 179]) {
      const ground = parseGeoreference(cornersOf({ ...MEASURES, turnedBy }));
      const found = ground && measuresOf(ground);
      expect(found).toMatchObject({ widthM: 120, heightM: 80, turnedBy, longitude: 9.75, latitude: 47.5 });
    }
  });

  it("points north without rotation, and east after a quarter turn", () => {
    const [topLeft, topRight, , bottomLeft] = cornersOf({ ...MEASURES, turnedBy: 0 });
    expect([topLeft?.[1], (topLeft?.[0] ?? 0) < (topRight?.[0] ?? 0)]).toEqual([topRight?.[1], true]);
    expect((topLeft?.[1] ?? 0) > (bottomLeft?.[1] ?? 0)).toBe(true);
    const turned = cornersOf({ ...MEASURES, turnedBy: 90 });
    expect((turned[0]?.[0] ?? 0) > (turned[3]?.[0] ?? 0)).toBe(true);
  });

  it("finds positions on the picture and back, from three corners as from four", () => {
    const corners = cornersOf(MEASURES);
    const [topLeft, topRight, bottomRight, bottomLeft] = corners;
    for (const origins of [corners, [topLeft, topRight, bottomLeft]]) {
      const ground = parseGeoreference(origins);
      if (!ground || !bottomRight) throw new Error("no ground");
      const corner = toPlanPoint(bottomRight, ground);
      expect([corner.x, corner.y].map((part) => Math.round(part * 1e6) / 1e6)).toEqual([1, 1]);
      const at = toPlanPoint(toPosition({ x: 0.25, y: 0.75 }, ground), ground);
      expect([at.x, at.y].map((part) => Math.round(part * 1e6) / 1e6)).toEqual([0.25, 0.75]);
    }
  });

  it.each([
    [null],
    ["here"],
    [[[1, 2]]],
    [
      [
        [0, 0],
        [1, 0],
        ["a", 1],
      ],
    ],
    [
      [
        [0, 0],
        [1, 1],
        [2, 2],
      ],
    ],
  ])("is not known from %j", (origins) => {
    expect(parseGeoreference(origins)).toBeNull();
  });

  it("takes outlines in parts of the plan and as GeoJSON", () => {
    const ground = parseGeoreference(cornersOf({ ...MEASURES, turnedBy: 0 }));
    const parts = [
      [0, 0],
      [1, 0],
      [1, 0.5],
    ];
    const outline = outlineOf(parts, null);
    expect(outline).toEqual(parts.map(([x, y]) => ({ x, y })));
    expect(centerOf(outline ?? []).x).toBeCloseTo(2 / 3);
    const polygon = { type: "Feature", geometry: { type: "Polygon", coordinates: [cornersOf(MEASURES)] } };
    expect(outlineOf(polygon, ground)).toHaveLength(4);
    expect(outlineOf(polygon, null)).toBeNull();
    expect(
      outlineOf(
        [
          [0, 0],
          [2, 0],
          [1, 1],
        ],
        ground,
      ),
    ).toBeNull();
  });
});

describe("a place in the URL", () => {
  it("has a type, ids and all its ancestors", () => {
    const path = parsePlacePath("s/b/f");
    expect([placeLevelOf(path), placeRouteParams(path)]).toEqual([
      "floor",
      { siteId: "s", buildingId: "b", floorId: "f" },
    ]);
    expect(parentPaths(path)).toEqual([["s"], ["s", "b"]]);
    expect([parsePlacePath(undefined), parsePlacePath("a/b/c/d/e").length]).toEqual([[], 4]);
  });
});

describe("a graticule", () => {
  it("has round degrees with as many digits as needed, and no line beyond the poles", () => {
    expect(graticuleOf({ west: 9.7431, south: 47.494, east: 9.7549, north: 47.502 }, 8)).toEqual({
      longitudes: [9.744, 9.746, 9.748, 9.75, 9.752, 9.754],
      latitudes: [47.494, 47.496, 47.498, 47.5, 47.502],
      digits: 3,
    });
    const earth = graticuleOf({ west: -180, south: -100, east: 180, north: 100 }, 8);
    expect(earth.latitudes).toEqual([-90, -45, 0, 45, 90]);
    expect(graticuleOf({ west: 0, south: 0, east: 0, north: 0 }, 8).longitudes).toEqual([0]);
    expect([longitudeText(190, 0), longitudeText(-9.5, 1), latitudeText(-33, 0)]).toEqual([
      "170° W",
      "9.5° W",
      "33° S",
    ]);
  });
});

describe("a drawn area", () => {
  const draft = { name: "Yard", latitude: 1, longitude: 2, radiusInM: 30, syncedDeviceTypes: ["mobile"] };

  it("is sent unchanged", () => {
    expect(areaDraftOf(areaBody(draft) as never)).toEqual(draft);
  });

  it("stays on the earth and within what areas may have", () => {
    expect(withCenter(draft, 91, 190.123456789)).toMatchObject({ latitude: 90, longitude: -169.876543 });
    expect([withRadius(draft, 0.2).radiusInM, withRadius(draft, 2e6).radiusInM]).toEqual([1, 1_000_000]);
    expect([
      isAreaComplete(draft),
      isAreaComplete({ ...draft, name: " " }),
      isAreaComplete({ ...draft, latitude: Number.NaN }),
    ]).toEqual([true, false, false]);
  });
});

describe("the organisation's colours", () => {
  it("are used where the contrast suffices", () => {
    expect(brandedColors({ primaryColor: "#0a5c36", secondaryColor: "#e3f3ea" })).toMatchObject({
      "--accent": "#0a5c36",
      "--accent-soft": "#e3f3ea",
    });
    expect(brandedColors({ primaryColor: "#0a5c36", secondaryColor: "#0a5c37" })).not.toHaveProperty("--accent-soft");
    expect(brandedColors({ primaryColor: "#ffdd00", secondaryColor: "#ffffff" })).toEqual({});
    expect([isReadableColor("#767676"), isReadableColor("#777777"), isReadableColor("red")]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe("a form of rows within rows", () => {
  const fields: FormField[] = [
    { name: "siteId", kind: "row" },
    { name: "buildingId", kind: "row", within: ["siteId"] },
    { name: "floorId", kind: "row", within: ["siteId", "buildingId"] },
  ];

  it("takes back what lay within another row, and asks for the rows above first", () => {
    const values = { siteId: "a", buildingId: "b", floorId: "c" };
    expect(withValue(fields, values, "buildingId", "x")).toEqual({ siteId: "a", buildingId: "x", floorId: null });
    expect(withValue(fields, values, "siteId", "a")).toEqual(values);
    const [, building = fields[0], floor = building] = fields;
    if (!building || !floor) throw new Error("no fields");
    expect(parentIds(floor, values)).toEqual({ siteId: "a", buildingId: "b" });
    expect(parentIds(floor, { siteId: "a", buildingId: null })).toBeNull();
  });

  it("is sent as JSON, or as a form when there is a file", () => {
    const changed = { name: "A", ids: ["1", "2"], none: null };
    expect(bodyWith(changed)).toBe(changed);
    const form = bodyWith({ ...changed, logo: new File(["x"], "x.png") }) as FormData;
    expect([form.get("name"), form.getAll("ids[]"), form.get("none")]).toEqual(["A", ["1", "2"], ""]);
    expect((form.get("logo") as File).name).toBe("x.png");
  });
});

describe("a zone's rectangle", () => {
  it("is stored relative to the plan, within its edges", () => {
    const box = { left: 2, top: 3, width: 31, height: 42 };
    const outline = boundaryOf(box).map(([x, y]) => ({ x, y }));
    expect(outline[2]).toEqual({ x: 0.33, y: 0.45 });
    expect(boxAround(outline)).toEqual(box);
    expect(boundaryOf({ left: 90, top: -5, width: 30, height: 10 })[2]).toEqual([1, 0.05]);
    expect([typedBox({ ...box, width: null }), typedBox({ ...box, height: 0 }), typedBox(box)]).toEqual([
      null,
      null,
      box,
    ]);
  });
});
