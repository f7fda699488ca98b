import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UNKNOWN_ID } from "../support/sample-values.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { expectError } from "./resource-suite.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
});
afterAll(() => api.close());

const create = async (path: string, json: object) => {
  const answer = await api.call("POST", path, { json });
  expect(answer.text).toContain('"id"');
  return answer.body;
};
const get = async (path: string) => (await api.call("GET", path)).body;

/** A site with a building of two floors, the first of which has a zone. */
async function campus(name: string) {
  const site = await create("/sites", { name });
  const inSite = `/sites/${site.id}/buildings`;
  const building = await create(inSite, { name: `${name} Hall` });
  const inBuilding = `${inSite}/${building.id}/floors`;
  const ground = await create(inBuilding, { name: "Ground" });
  const upper = await create(inBuilding, { name: "Upper" });
  const zone = await create(`${inBuilding}/${ground.id}/zones`, { name: "Lobby", boundary: { points: [1, 2] } });
  return { site, building, ground, upper, zone, inSite, inBuilding };
}

describe("the path of a place", () => {
  it("answers 404 if its parts do not belong together", async () => {
    const [here, there] = [await campus("Here"), await campus("There")];
    const crossed = `/sites/${here.site.id}/buildings/${there.building.id}/floors`;
    expectError(await api.call("GET", crossed), 404, "not-found");
    expectError(await api.call("POST", crossed, { json: { name: "X" } }), 404, "not-found");
    expectError(await api.call("GET", `${crossed}/${there.ground.id}`), 404, "not-found");
    expectError(await api.call("PUT", `${crossed}/${there.ground.id}`, { json: { name: "X" } }), 404, "not-found");
    const zones = `${here.inBuilding}/${there.ground.id}/zones`;
    expectError(await api.call("GET", zones), 404, "not-found");
    expectError(await api.call("POST", zones, { json: { name: "X" } }), 404, "not-found");
    expectError(
      await api.call("DELETE", `${here.inBuilding}/${here.upper.id}/zones/${here.zone.id}`),
      404,
      "not-found",
    );
    expect(await get(`${here.inBuilding}/${here.ground.id}/zones/${here.zone.id}`)).toMatchObject({
      siteId: here.site.id,
      buildingId: here.building.id,
      floorId: here.ground.id,
    });
  });

  it("ends with its place: a site is deleted with its contents", async () => {
    const gone = await campus("Gone");
    const device = { name: "Button", externalId: "gone-1", siteId: gone.site.id, buildingId: gone.building.id };
    const { id } = await create("/api-devices", device);
    await api.call("DELETE", `/sites/${gone.site.id}`);
    for (const path of [gone.inSite, `${gone.inBuilding}/${gone.ground.id}`, `/api-devices/${id}`]) {
      expectError(await api.call("GET", path), 404, "not-found");
    }
  });
});

describe("the content of a place", () => {
  it("is returned only if flags request it", async () => {
    const { site, building, ground, upper, zone, inSite, inBuilding } = await campus("Shown");
    expect(await get(`/sites/${site.id}?includeBuildings=true&includeBuildingTotal=true`)).toMatchObject({
      buildings: [{ id: building.id, name: "Shown Hall", externalId: null }],
      buildingTotal: 1,
    });
    expect(
      await get(`${inSite}/${building.id}?includeFloors=true&include-floor-total=true&includeParentNames=true`),
    ).toMatchObject({
      siteName: "Shown",
      floorTotal: 2,
      floors: [
        { id: ground.id, rank: 0 },
        { id: upper.id, rank: 1 },
      ],
    });
    const floor = await get(
      `${inBuilding}/${ground.id}?includeZones=true&includeZoneTotal=true&includeParentNames=true`,
    );
    expect(floor).toMatchObject({ siteName: "Shown", buildingName: "Shown Hall", zoneTotal: 1 });
    expect(floor.zones).toEqual([{ id: zone.id, name: "Lobby", externalId: null, type: null, boundary: null }]);
    const ofBuilding = { name: "X", emergency: true, externalId: "B-9" };
    const known = await create(inSite, ofBuilding);
    expect(await get(`/sites/${site.id}?includeEmergencyBuildings=true&includeExternalSources=true`)).toMatchObject({
      emergencyBuildings: [{ id: known.id, name: "X" }],
      externalSources: [],
      sources: null,
    });
    expect(await get(`/sites/${site.id}?includeSources=false`)).not.toHaveProperty("sources");
    expect(await get(`${inSite}/${known.id}?includeExternalSources=true`)).toMatchObject({
      externalSources: [{ externalId: "B-9" }],
    });
    await api.call("DELETE", `${inSite}/${known.id}`);
    const withBoundary = await get(`${inBuilding}/${ground.id}?includeZoneBoundaries=true`);
    expect(withBoundary.zones).toMatchObject([{ boundary: { points: [1, 2] } }]);
    expect(await get(`${inBuilding}/${ground.id}/zones/${zone.id}?includeParentNames=true`)).toMatchObject({
      siteName: "Shown",
      buildingName: "Shown Hall",
      floorName: "Ground",
    });
    const plain = await get(`${inBuilding}/${ground.id}`);
    for (const name of ["zones", "zoneTotal", "siteName", "buildingName"]) expect(plain).not.toHaveProperty(name);
  });

  it("is hidden from users who may not see it", async () => {
    const { site } = await campus("Discreet");
    const { token } = await api.user("Porter", "get /sites/*");
    const path = `/sites/${site.id}?includeBuildings=true&includeBuildingTotal=true`;
    expect((await api.call("GET", path, { token })).body).toMatchObject({ buildings: [], buildingTotal: 0 });
  });

  it("is found by its properties", async () => {
    const { ground, zone, inBuilding } = await campus("Found");
    const ids = async (path: string) => (await get(path)).data.map(({ id }: { id: string }) => id);
    expect(await ids(`${inBuilding}/${ground.id}/zones?hasBoundary=true`)).toEqual([zone.id]);
    expect(await ids(`${inBuilding}/${ground.id}/zones?hasBoundary=false`)).toEqual([]);
    expect(await ids(`${inBuilding}?hasFloorPlan=true`)).toEqual([]);
    expect(await ids(`${inBuilding}?hasFloorPlan=false`)).toHaveLength(2);
  });
});

describe("floors", () => {
  it("are reordered only as a complete list without duplicates", async () => {
    const { site, building, ground, upper, inBuilding } = await campus("Ordered");
    const cellar = await create(inBuilding, { name: "Cellar" });
    expect(cellar.rank).toBe(2);
    const path = `/sites/${site.id}/buildings/${building.id}/reorder-floors`;
    const order = [cellar.id, ground.id, upper.id];
    expect((await api.call("PUT", path, { json: { floors: order } })).body).toEqual({ floors: order });
    expect((await get(inBuilding)).data.map(({ name }: { name: string }) => name)).toEqual([
      "Cellar",
      "Ground",
      "Upper",
    ]);
    const wrong = [[], [cellar.id, ground.id], [cellar.id, cellar.id, upper.id], [...order, UNKNOWN_ID], "x"];
    for (const floors of wrong) expectError(await api.call("PUT", path, { json: { floors } }), 400, "invalid-value");
    expectError(await api.call("PUT", path, { json: {} }), 400, "required", "floors");
    const other = await campus("Elsewhere");
    const crossed = `/sites/${other.site.id}/buildings/${building.id}/reorder-floors`;
    expectError(await api.call("PUT", crossed, { json: { floors: order } }), 404, "not-found");
  });
});

describe("roles at sites", () => {
  it("have a different holder per site", async () => {
    const [north, south] = [await create("/sites", { name: "North" }), await create("/sites", { name: "South" })];
    const role = await create("/site-roles", { name: "Response team" });
    const played = await create(`/sites/${north.id}/recipients`, { siteRoleId: role.id, userIds: [api.adminId] });
    const again = { json: { siteRoleId: role.id } };
    expectError(await api.call("POST", `/sites/${north.id}/recipients`, again), 409, "conflict");
    const shown = await get(`/site-roles/${role.id}?includeAssociatedSites=true`);
    expect(shown.associatedSites).toEqual([{ id: north.id, name: "North" }]);
    const { data } = await get(`/site-roles/${role.id}/sites`);
    expect(data).toMatchObject([{ id: north.id, name: "North", siteRecipientId: played.id }]);
    expect((await get(`/site-roles/${role.id}/sites/${north.id}`)).siteRecipientId).toBe(played.id);
    expectError(await api.call("GET", `/site-roles/${role.id}/sites/${south.id}`), 404, "not-found");
    expect(await get(`/sites/${north.id}`)).not.toHaveProperty("siteRecipientId");
    await api.call("DELETE", `/site-roles/${role.id}`);
    expect((await get(`/sites/${north.id}/recipients`)).total).toBe(0);
  });
});

describe("API devices", () => {
  it("must have consistent levels", async () => {
    const [here, there] = [await campus("Near"), await campus("Far")];
    const place = { siteId: here.site.id, buildingId: here.building.id, floorId: here.ground.id, zoneId: here.zone.id };
    const device = await create("/api-devices", { name: "Button", externalId: "B-1", ...place });
    expect(device).toMatchObject({ ...place, zone: { name: "Lobby" }, site: { name: "Near" } });
    const filters = Object.entries(place).map(([name, id]) => `${name}=${id}`);
    for (const filter of filters) expect((await get(`/api-devices?${filter}`)).data).toMatchObject([{ id: device.id }]);
    expect((await get(`/api-devices?siteId=${there.site.id}`)).total).toBe(0);
    const { domainId } = await get(`/api-devices/${device.id}`);
    expect((await get(`/api-devices?domainId=${domainId}`)).data).toMatchObject([{ id: device.id }]);
    expect((await get(`/api-devices?domainId=${device.id}`)).total).toBe(0);
    const crossed: [string, object][] = [
      ["buildingId", { buildingId: there.building.id, floorId: null, zoneId: null }],
      ["floorId", { floorId: there.ground.id, zoneId: null }],
      ["zoneId", { floorId: here.upper.id }],
      ["zoneId", { zoneId: there.zone.id }],
    ];
    for (const [field, change] of crossed) {
      expectError(await api.call("PUT", `/api-devices/${device.id}`, { json: change }), 400, "invalid-value", field);
    }
    const bare = { name: "B", siteId: here.site.id, buildingId: here.building.id, zoneId: here.zone.id };
    expect((await create("/api-devices", { ...bare, externalId: "B-2" })).floorId).toBe(here.ground.id);
    expectError(await api.call("POST", "/api-devices", { json: { ...bare, externalId: "b-1" } }), 409, "conflict");
    const long = { ...bare, externalId: "B-3", name: "x".repeat(141) };
    expectError(await api.call("POST", "/api-devices", { json: long }), 400, "invalid-value", "name");
    expect((await create("/api-devices", { ...long, name: "x".repeat(140) })).name).toHaveLength(140);
  });

  it("are visible to users who see their site", async () => {
    const branch = await create("/domains", { name: "Branch", parentId: api.rootId });
    const other = await create("/domains", { name: "Other", parentId: api.rootId });
    const site = await create(`/sites?domain=${branch.id}`, { name: "Branch site" });
    const building = await create(`/sites/${site.id}/buildings?domain=${branch.id}`, { name: "House" });
    const device = { name: "Button", externalId: "branch-1", siteId: site.id, buildingId: building.id };
    const { id } = await create(`/api-devices?domain=${branch.id}`, device);
    expect((await api.call("GET", `/api-devices/${id}?domain=${branch.id}`)).status).toBe(200);
    expectError(await api.call("GET", `/api-devices/${id}?domain=${other.id}`), 404, "not-found");
    const unseen = { json: { ...device, externalId: "branch-2" } };
    expectError(await api.call("POST", `/api-devices?domain=${other.id}`, unseen), 400, "invalid-value", "siteId");
  });
});
