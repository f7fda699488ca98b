import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NotificationService } from "../../src/notifications/notification-service.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir(), { needs: { notificationService: {} as NotificationService } });
});
afterAll(() => api.close());

const make = async (path: string, json: object) => {
  const answer = await api.call("POST", path, { json });
  expect([path, answer.status, answer.text]).toEqual([path, 200, expect.anything()]);
  return answer.body;
};
const circle = (coordinates: readonly number[], radiusInM: number) => ({
  type: "Feature",
  geometry: { type: "Point", coordinates },
  properties: { radiusInM },
});
const area = (name: string, coordinates: readonly number[], radiusInM = 1_000) =>
  make("/areas-of-interest", { name, geometryType: "circle", geometryValue: circle(coordinates, radiusInM) });

describe("areas over the API", () => {
  it("come in as forms, and are listed by bounding box, also over the antimeridian", async () => {
    const { body: lake } = await api.call("POST", "/areas-of-interest", {
      form: [
        ["name", "Lake"],
        ["geometryType", "circle"],
        ["geometryValue[type]", "Feature"],
        ["geometryValue[geometry][type]", "Point"],
        ["geometryValue[geometry][coordinates][]", "9.5"],
        ["geometryValue[geometry][coordinates][]", "47.5"],
        ["geometryValue[properties][radiusInM]", "2500"],
        ["syncedDeviceTypes[]", "mobile"],
        ["syncedDeviceTypes[]", "desktop"],
      ],
    });
    expect(lake).toMatchObject({ geometryValue: circle([9.5, 47.5], 2_500), syncedDeviceTypes: [] });
    const isle = await area("Isle", [-179.995, -17]);
    const inBox = async (box: string) => {
      const { body } = await api.call("GET", `/areas-of-interest?bounding-box=${box}`);
      return [body.total, ...body.data.map(({ name }: { name: string }) => name)];
    };
    expect(await inBox("179,-18,-179,-16")).toEqual([1, "Isle"]);
    expect(await inBox("179,-18,179.999,-16")).toEqual([1, "Isle"]);
    expect(await inBox("-178,-18,179,-16")).toEqual([0]);
    expect(await inBox("9.53,47,11,48")).toEqual([1, "Lake"]);
    expect(await inBox("-180,-90,180,90")).toEqual([2, "Lake", "Isle"]);
    const { status, body } = await api.call("GET", "/areas-of-interest?boundingBox=1,2,3");
    expect([status, body.errors[0].field]).toEqual([400, "boundingBox"]);
    for (const { id } of [lake, isle]) await api.call("DELETE", `/areas-of-interest/${id}`);
  });

  it("are limited to twenty", async () => {
    const made = [];
    for (let n = 0; n < 20; n++) made.push((await area(`A${n}`, [n, 0])).id);
    const json = { name: "One more", geometryType: "circle", geometryValue: circle([0, 0], 5) };
    const { status, body } = await api.call("POST", "/areas-of-interest", { json });
    expect([status, body.type]).toEqual([400, "limit-exceeded"]);
    for (const id of made) await api.call("DELETE", `/areas-of-interest/${id}`);
  });

  it("take the reports of users' own devices, which show where they are", async () => {
    const { id: areaId } = await area("Field", [179.999, 1]);
    const trigger = await make(`/areas-of-interest/${areaId}/boundary-triggers`, {
      ...{ name: "In", action: "entered", "per-user-throttling-in-secs": 60, notificationAction: "send-to-none" },
    });
    const ann = await api.user("Ann");
    const eve = await api.user("Eve");
    const device = await make(`/users/${ann.id}/devices`, { type: "Android", name: "Phone" });
    const at = `/users/${ann.id}/devices/${device.id}/locations`;
    const json = { latitude: 1, longitude: -179.999, accuracyInM: 10.5 };
    expect((await api.call("POST", at, { json, token: eve.token })).status).toBe(403);
    const wrong = await api.call("POST", at, { json: { latitude: 91, accuracyInM: -1 }, token: ann.token });
    const fields = wrong.body.errors.map(({ field }: { field: string }) => field);
    expect([wrong.status, fields]).toEqual([400, ["latitude", "longitude", "accuracyInM"]]);
    const { status, body } = await api.call("POST", at, { json, token: ann.token });
    const presence = { areaOfInterestIds: [areaId], accuracyInM: 11, updatedAt: expect.stringMatching(/Z$/) };
    expect([status, body]).toEqual([200, expect.objectContaining({ id: device.id })]);
    expect(body.presence).toMatchObject(presence);
    const shown = await api.call("GET", `/users/${ann.id}/devices`);
    expect(shown.body.data[0].presence).toMatchObject(presence);
    const inside = await api.call("GET", `/users?areaOfInterestId=${areaId}`);
    expect([inside.body.total, inside.body.data[0]?.id]).toEqual([1, ann.id]);
    expect((await api.call("GET", `/users?areaOfInterestId=${eve.id}`)).body.total).toBe(0);
    const foreign = await api.call("POST", `/users/${eve.id}/devices/${device.id}/locations`, { json });
    expect(foreign.status).toBe(404);
    const acts = `/areas-of-interest/${areaId}/boundary-triggers/${trigger.id}/activities`;
    await expect.poll(async () => (await api.call("GET", acts)).body.total).toBe(1);
    const mine = await api.call("GET", `${acts}?device[userId]=${ann.id}`);
    expect(mine.body.data[0]).toMatchObject({ reason: "entered", status: "no-recipients", userId: ann.id });
    expect((await api.call("GET", `${acts}?device[userId]=${eve.id}`)).body.total).toBe(0);
    expect((await api.call("POST", acts, { json: {} })).status).toBe(405);
  });
});
