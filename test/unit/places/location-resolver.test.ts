import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CallerError } from "../../../src/lib/errors.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { formatLocation, nameLocation } from "../../../src/places/location-names.ts";
import { resolveLocation } from "../../../src/places/location-resolver.ts";
import domains from "../../../src/resources/domains/domains.ts";
import buildings from "../../../src/resources/places/buildings.ts";
import floors from "../../../src/resources/places/floors.ts";
import sites from "../../../src/resources/places/sites.ts";
import zones from "../../../src/resources/places/zones.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, RowVisibility, Store } from "../../../src/store/store.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const EVERYTHING: RowVisibility = { visible: () => "all" };
const NOTHING: RowVisibility = { visible: () => "none" };
const UNKNOWN = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

let store: Store;
/** Ids by the names that the cases use. */
const id: Record<string, string> = {};

/**
 * Two sites, each with a "Main" building; North also has an "Annex". Every building has "Ground" and "Upper" floors but
 * the annex, which has "Attic" alone; "Lobby" is on the ground floors of both Mains, "Lab" in the attic alone.
 */
beforeAll(async () => {
  const fail = (error: unknown): never => {
    throw error;
  };
  store = openStore({
    dataDir: makeTempDir(),
    catalogue: createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])),
    hooks: {},
    clock: createFakeClock(),
    events: createEvents(fail),
    log: silentLog,
    onFatal: fail,
  });
  let rootId: string | null = null;
  const actor = { kind: "system", userId: null, name: "test", address: null } as const;
  const by: ActorContext = { actor, scope: fullScope(() => rootId) };
  rootId = (await store.create(domains, { name: "Root" }, by)).id;
  for (const site of ["North", "South"]) {
    const siteId = (await store.create(sites, { name: site, externalId: `S-${site}` }, by)).id;
    id[site] = siteId;
    for (const building of site === "North" ? ["Main", "Annex"] : ["Main"]) {
      const externalId = `B-${building}`;
      const buildingId = (await store.create(buildings, { siteId, name: building, externalId }, by)).id;
      id[`${site}.${building}`] = buildingId;
      for (const floor of building === "Main" ? ["Ground", "Upper"] : ["Attic"]) {
        const inFloor = { siteId, buildingId, name: floor, externalId: `F-${floor}` };
        const floorId = (await store.create(floors, inFloor, by)).id;
        id[`${site}.${building}.${floor}`] = floorId;
        const zone = floor === "Ground" ? "Lobby" : floor === "Attic" ? "Lab" : null;
        if (zone === null) continue;
        const inZone = { siteId, buildingId, floorId, name: zone, externalId: `Z-${zone}` };
        id[`${site}.${building}.${floor}.${zone}`] = (await store.create(zones, inZone, by)).id;
      }
    }
  }
});
afterAll(() => store.close());

/** What a client tells; `@North.Main` stands for an id. */
type Told = Record<string, unknown>;

function withIds(told: unknown): unknown {
  if (typeof told === "string" && told.startsWith("@")) return id[told.slice(1)];
  if (typeof told !== "object" || told === null || Array.isArray(told)) return told;
  return Object.fromEntries(Object.entries(told).map(([name, value]) => [name, withIds(value)]));
}

/** The place as a path of names, from the site down. */
function resolved(told: unknown): string {
  const place = resolveLocation(withIds(told), store, EVERYTHING);
  const ids = [place.siteId, place.buildingId, place.floorId, place.zoneId].filter((each) => each !== null);
  const known = Object.entries(id).find(([, each]) => each === ids.at(-1));
  expect(ids).toEqual(known?.[0].split(".").map((_, at, names) => id[names.slice(0, at + 1).join(".")]));
  return known?.[0] ?? "nowhere";
}

const FOUND: [told: Told, place: string][] = [
  [{ site: { id: "@North" } }, "North"],
  [{ site: { externalId: "S-North" } }, "North"],
  [{ site: { name: "North" } }, "North"],
  [{ site: { name: "NORTH" } }, "North"],
  [{ site: { externalId: "s-south" } }, "South"],
  [{ building: { id: "@South.Main" } }, "South.Main"],
  [{ building: { name: "Annex" } }, "North.Annex"],
  [{ building: { externalId: "B-Annex" } }, "North.Annex"],
  [{ site: { name: "South" }, building: { name: "Main" } }, "South.Main"],
  [{ site: { id: "@North" }, building: { externalId: "B-Main" } }, "North.Main"],
  [{ site: { id: "@North" }, building: { id: "@North.Annex" } }, "North.Annex"],
  [{ floor: { id: "@North.Main.Upper" } }, "North.Main.Upper"],
  [{ floor: { name: "Attic" } }, "North.Annex.Attic"],
  [{ floor: { externalId: "f-attic" } }, "North.Annex.Attic"],
  [{ site: { name: "South" }, floor: { name: "Upper" } }, "South.Main.Upper"],
  [{ building: { id: "@South.Main" }, floor: { name: "Ground" } }, "South.Main.Ground"],
  [{ site: { name: "North" }, building: { name: "Main" }, floor: { name: "Ground" } }, "North.Main.Ground"],
  [{ zone: { id: "@South.Main.Ground.Lobby" } }, "South.Main.Ground.Lobby"],
  [{ zone: { name: "Lab" } }, "North.Annex.Attic.Lab"],
  [{ zone: { externalId: "Z-Lab" } }, "North.Annex.Attic.Lab"],
  [{ site: { externalId: "S-South" }, zone: { name: "Lobby" } }, "South.Main.Ground.Lobby"],
  [{ building: { id: "@North.Main" }, zone: { externalId: "Z-Lobby" } }, "North.Main.Ground.Lobby"],
  [{ floor: { id: "@South.Main.Ground" }, zone: { name: "Lobby" } }, "South.Main.Ground.Lobby"],
  [
    { site: { name: "North" }, building: { name: "Main" }, floor: { name: "Ground" }, zone: { name: "Lobby" } },
    "North.Main.Ground.Lobby",
  ],
  // Two buildings of that name are narrowed down by what lies in them.
  [{ building: { name: "Main" }, floor: { id: "@South.Main.Upper" } }, "South.Main.Upper"],
  // The id counts before the other id, and that before the name.
  [{ site: { id: "@South", externalId: "S-North", name: "North" } }, "South"],
  [{ site: { externalId: "S-South", name: "North" } }, "South"],
  [{ site: { id: null, externalId: "", name: "North" } }, "North"],
  // Levels that are not told may be there, and so may members that nobody asked for.
  [{ site: { name: "North" }, building: null, floor: undefined }, "North"],
  [{ site: { id: "@North", permissions: ["get"] }, floorPlanImageWithBoundaryFile: null }, "North"],
];

const REFUSED: [why: string, told: unknown, field: string, words: RegExp][] = [
  ["no object", "North", "location", /object/],
  ["a list", [], "location", /object/],
  ["no level", {}, "location", /no place/],
  ["levels that are all empty", { site: null, zone: undefined }, "location", /no place/],
  ["a level that is a text", { site: "North" }, "location.site", /object/],
  ["a level that is a list", { site: ["North"] }, "location.site", /object/],
  ["a level without a key", { site: {} }, "location.site", /text/],
  ["a key that is a number", { site: { name: 1 } }, "location.site", /text/],
  ["a key that is an object", { site: { id: { a: 1 } } }, "location.site", /text/],
  ["an id that is none", { site: { id: "North" } }, "location.site", /No site with this id was found/],
  ["the id of nothing", { site: { id: UNKNOWN } }, "location.site", /No site with this id was found/],
  ["the id of another level", { site: { id: "@North.Main" } }, "location.site", /No site/],
  ["an unknown name", { zone: { name: "Cave" } }, "location.zone", /No zone with this name was found/],
  ["an unknown externalId", { floor: { externalId: "F-9" } }, "location.floor", /No floor with this externalId was found/],
  ["a name that is an externalId", { site: { name: "S-North" } }, "location.site", /No site/],
  ["a name of two buildings", { building: { name: "Main" } }, "location.building", /Several/],
  ["a name of two floors in one site's buildings", { floor: { name: "Ground" } }, "location.floor", /Several/],
  ["an externalId of two zones", { zone: { externalId: "Z-Lobby" } }, "location.zone", /Several/],
  ["a zone of either Main", { building: { name: "Main" }, zone: { name: "Lobby" } }, "location.zone", /Several/],
  [
    "a building of another site",
    { site: { name: "South" }, building: { name: "Annex" } },
    "location.building",
    /that site/,
  ],
  [
    "a building's id in another site",
    { site: { id: "@South" }, building: { id: "@North.Main" } },
    "location.building",
    /that site/,
  ],
  [
    "a floor of another building",
    { building: { id: "@North.Annex" }, floor: { name: "Upper" } },
    "location.floor",
    /that building/,
  ],
  [
    "a floor of another site",
    { site: { id: "@South" }, floor: { id: "@North.Annex.Attic" } },
    "location.floor",
    /that site/,
  ],
  [
    "a zone of another floor",
    { floor: { id: "@North.Main.Upper" }, zone: { name: "Lobby" } },
    "location.zone",
    /that floor/,
  ],
  ["a zone of another site", { site: { name: "South" }, zone: { name: "Lab" } }, "location.zone", /that site/],
  ["an unknown level above a known one", { site: { name: "East" }, zone: { name: "Lab" } }, "location.site", /No site/],
];

describe("a location", () => {
  it.each(FOUND.map(([told, place]) => [JSON.stringify(told), place, told] as const))(
    "%s is %s",
    (_text, place, told) => {
      expect(resolved(told)).toBe(place);
    },
  );

  it.each(REFUSED)("is refused for %s", (_why, told, field, words) => {
    let fault: unknown = null;
    try {
      resolveLocation(withIds(told), store, EVERYTHING);
    } catch (error) {
      fault = error;
    }
    expect(fault).toBeInstanceOf(CallerError);
    expect((fault as CallerError).faults).toMatchObject([{ field, type: "invalid-value" }]);
    expect((fault as CallerError).message).toMatch(words);
  });

  it("is nowhere for whoever sees no sites", () => {
    expect(() => resolveLocation({ site: { name: "North" } }, store, NOTHING)).toThrow(/No site/);
    expect(() => resolveLocation({ zone: { name: "Lab" } }, store, NOTHING)).toThrow(/No zone/);
  });

  it("is told in words from the narrowest level up", () => {
    const named = nameLocation(resolveLocation({ zone: { name: "Lab" } }, store, EVERYTHING), store);
    expect(formatLocation(named)).toBe("Lab, Attic, Annex, North");
    expect(named?.zone).toEqual({ id: id["North.Annex.Attic.Lab"], name: "Lab", externalId: "Z-Lab" });
    expect(formatLocation(null)).toBe("");
  });
});
