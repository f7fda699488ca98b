import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deviceGroupHooks } from "../../src/devices/device-group-hooks.ts";
import { deviceHooks } from "../../src/devices/device-hooks.ts";
import { endpointActivityHooks } from "../../src/ops/health/endpoint-activity-hooks.ts";
import type { ResourceHooks } from "../../src/store/store.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

const NOBODY = "00000000-0000-4000-8000-000000000000";

let api: ApiFixture;
let extensionId: string;
let endpointId: string;
let groupId: string;
beforeAll(async () => {
  api = await openApi(makeTempDir(), {
    behaviours: {
      "endpoint-activities": endpointActivityHooks as unknown as ResourceHooks,
      "device-groups": deviceGroupHooks({ of: () => new Map(), idle: async () => {} }) as unknown as ResourceHooks,
      devices: deviceHooks(
        () => "a-plugin",
        () => [],
      ) as unknown as ResourceHooks,
    },
  });
  extensionId = (await post("/extensions", { name: "On-prem", type: "endpoint-proxy" })).id;
  endpointId = (await post(`/extensions/${extensionId}/endpoints`, { name: "Site A" })).id;
  const other = (await post(`/extensions/${extensionId}/endpoints`, { name: "Site B" })).id;
  const device = (endpoint: string, deviceIdentifier: string, type: string, description: string, attributes: object) =>
    post(`/extensions/${extensionId}/endpoints/${endpoint}/devices`, {
      deviceIdentifier,
      type,
      description,
      attributes,
    });
  await device(endpointId, "SEP1", "phones", "Room 1", { Name: "Desk", Floor: "1" });
  await device(endpointId, "SEP2", "phones", "Room 2", { Floor: "2" });
  await device(endpointId, "zone:hall", "speakers", "Hall", { Floor: "1" });
  await device(other, "SEP3", "phones", "Room 3", { Floor: "1" });
  const filter = { attribute: "Floor", comparison: "EQUALS", value: "1", complement: false, caseSensitive: true };
  groupId = (await post("/device-groups", { name: "First floor", filters: [filter], exclusionIds: ["SEP3"] })).id;
});
afterAll(() => api.close());

async function post(path: string, json: object) {
  const { status, body } = await api.call("POST", path, { json });
  expect([status, body.message]).toEqual([200, undefined]);
  return body;
}
const names = async (path: string) => {
  const { status, body } = await api.call("GET", path);
  return status === 200 ? body.data.map((row: { deviceIdentifier: string }) => row.deviceIdentifier) : status;
};
const query = (values: Record<string, unknown>) =>
  new URLSearchParams(
    Object.entries(values).map(([name, value]): [string, string] => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  ).toString();

describe("lists of devices", () => {
  it.each([
    ["nothing", {}, ["SEP1", "SEP2", "zone:hall", "SEP3"]],
    ["types", { types: ["speakers"] }, ["zone:hall"]],
    ["icopIds", { icopIds: ["sep2", "SEP3"] }, ["SEP2", "SEP3"]],
    ["icop-ids in kebab-case", { "icop-ids": ["SEP2"] }, ["SEP2"]],
    ["attributes", { attributes: { Floor: "1" } }, ["SEP1", "zone:hall", "SEP3"]],
    ["several together", { attributes: { Floor: "1" }, types: ["phones"] }, ["SEP1", "SEP3"]],
    [
      "a group that is not stored",
      { deviceGroup: { filterType: "ACCEPT", exclusionIds: ["SEP1"] } },
      ["SEP2", "zone:hall", "SEP3"],
    ],
    ["name, by description", { name: "Room 2" }, ["SEP2"]],
    ["name, by attribute", { name: "Desk" }, ["SEP1"]],
    ["a field", { deviceIdentifier: "SEP3" }, ["SEP3"]],
    ["a field and a filter", { type: "phones", attributes: { Floor: "1" } }, ["SEP1", "SEP3"]],
    ["what nobody has", { types: ["idns"] }, []],
    ["no JSON", { attributes: "{" }, 400],
    ["no list", { types: { a: 1 } }, 400],
    ["no group", { deviceGroupId: NOBODY }, 400],
    ["an object that is no text", { attributes: { Floor: { toString: 1, valueOf: 1 } } }, []],
  ])("are restricted by %s", async (_name, values, expected) => {
    expect(await names(`/devices?${query(values)}`)).toEqual(expected);
  });

  it("show a group's members, alike at each path", async () => {
    expect(await names(`/devices?deviceGroupId=${groupId}`)).toEqual(["SEP1", "zone:hall"]);
    expect(await names(`/device-groups/${groupId}/devices`)).toEqual(["SEP1", "zone:hall"]);
    expect(await names(`/device-groups/${groupId}/devices?limit=1&start=end`)).toEqual(["zone:hall"]);
    expect(await names(`/extensions/${extensionId}/devices?deviceGroupId=${groupId}`)).toEqual(["SEP1", "zone:hall"]);
    expect(await names(`/device-groups/${NOBODY}/devices`)).toBe(404);
  });

  it("stay within their extension and endpoint, with the permissions of that path", async () => {
    const at = `/extensions/${extensionId}/endpoints/${endpointId}/devices`;
    expect(await names(`${at}?${query({ types: ["phones"] })}`)).toEqual(["SEP1", "SEP2"]);
    expect(await names(`/extensions/${NOBODY}/devices`)).toBe(404);
    expect(await names(`/extensions/${NOBODY}/endpoints/${endpointId}/devices`)).toBe(404);
    expect(await names(`/extensions/${extensionId}/endpoints/${NOBODY}/devices`)).toBe(404);
    const own = await api.call("GET", `${at}?limit=1`);
    expect(own.body).toMatchObject({ total: 3, partial: true, data: [{ permissions: ["get", "put", "delete"] }] });
    expect((await api.call("GET", "/devices?limit=1")).body.data[0].permissions).toEqual(["get"]);
  });

  it("page through a restriction, and count it", async () => {
    const at = `/devices?${query({ attributes: { Floor: "1" } })}&limit=2`;
    const first = (await api.call("GET", at)).body;
    expect(first).toMatchObject({ total: 3, partial: true });
    expect(await names(`${at}&start=${encodeURIComponent(first.next)}`)).toEqual(["SEP3"]);
  });

  it("page on while members are added and removed, but not in the list of another group", async () => {
    const group = await post("/device-groups", { name: "Some", additionIds: ["SEP1", "SEP2", "SEP3"] });
    const at = (id: string) => `/devices?deviceGroupId=${id}&limit=1`;
    const { next } = (await api.call("GET", at(group.id))).body;
    const start = `&start=${encodeURIComponent(next)}`;
    await api.call("PUT", `/device-groups/${group.id}`, { json: { additionIds: ["SEP1", "SEP3"] } });
    expect(await names(at(group.id) + start)).toEqual(["SEP3"]);
    expect(await names(at(groupId) + start)).toBe(400);
  });

  it("require the permission to read devices", async () => {
    const { token } = await api.user("Ann");
    expect((await api.call("GET", "/devices", { token })).status).toBe(403);
    const reader = await api.user("Bob", "get /devices/*");
    expect((await api.call("GET", "/devices", { token: reader.token })).body.total).toBe(4);
    expect((await api.call("GET", `/device-groups/${groupId}/devices`, { token: reader.token })).status).toBe(403);
  });

  it("reject a group that the caller may not see, also as the base of another", async () => {
    const { token } = await api.user("Cid", "get /devices/*");
    const total = async (deviceGroup: object) =>
      (await api.call("GET", `/devices?${query({ deviceGroup })}`, { token })).body.total;
    expect((await api.call("GET", `/devices?deviceGroupId=${groupId}`, { token })).status).toBe(400);
    expect(await total({ baseDeviceGroupIds: [groupId] })).toBe(0);
    expect(await total({ filterType: "ACCEPT" })).toBe(4);
  });

  it("show additions and exclusions of a group only with the permission to read them", async () => {
    const seenBy = async (...grants: string[]) => {
      const { token } = await api.user(`Reader with ${grants.length}`, "get /device-groups/*", ...grants);
      const { exclusionIds, exclusions } = (await api.call("GET", `/device-groups/${groupId}`, { token })).body;
      return [exclusionIds, exclusions.map((device: { deviceIdentifier: string }) => device.deviceIdentifier)];
    };
    expect(await seenBy()).toEqual([["SEP3"], []]);
    expect(await seenBy("get /devices/*")).toEqual([["SEP3"], ["SEP3"]]);
    const { id } = (await api.call("GET", "/devices?deviceIdentifier=SEP1")).body.data[0];
    expect(await seenBy(`get /devices/${id}`, "get /domains/*")).toEqual([["SEP3"], []]);
  });

  it("serve GET alone where nothing can be made", async () => {
    const { status, headers } = await api.call("POST", "/devices", { json: {} });
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });
});

describe("commands to an endpoint", () => {
  const at = () => `/extensions/${extensionId}/endpoints/${endpointId}/activities`;

  it("begin as pending, whatever the body says", async () => {
    const body = await post(at(), { type: "restart", state: "success", severity: "warn", value: { reason: "test" } });
    expect(body).toMatchObject({
      type: "restart",
      state: "pending",
      severity: "warn",
      value: { reason: "test" },
      extensionId,
      endpointId,
    });
    expect((await api.call("GET", `${at()}?state=pending`)).body.data).toEqual([body]);
    expect((await api.call("GET", `${at()}/${body.id}`)).body).toEqual(body);
  });

  it("are rejected if unknown or without a target", async () => {
    const status = async (path: string, json: object) => (await api.call("POST", path, { json })).body;
    expect(await status(at(), {})).toMatchObject({ status: 400, type: "required", errors: [{ field: "type" }] });
    expect(await status(at(), { type: "axl-result" })).toMatchObject({ status: 400, errors: [{ field: "type" }] });
    expect(await status(at(), { type: "dance" })).toMatchObject({ status: 400, errors: [{ field: "type" }] });
    expect(await status(at().replace(endpointId, NOBODY), { type: "backup" })).toMatchObject({ status: 404 });
    expect(await status(at().replace(extensionId, NOBODY), { type: "backup" })).toMatchObject({ status: 404 });
  });

  it("need put on the endpoint", async () => {
    const seeing = "get /extensions/*/endpoints/*";
    const poster = await api.user("Cid", seeing, "post /extensions/*/endpoints/*/activities");
    const keeper = await api.user("Dee", seeing, "put /extensions/*/endpoints/*");
    const order = async (token: string) => (await api.call("POST", at(), { json: { type: "backup" }, token })).status;
    expect(await order(poster.token)).toBe(403);
    expect(await order(keeper.token)).toBe(200);
    expect(await order((await api.user("Eve")).token)).toBe(404);
  });
});

describe("attachments of an extension", () => {
  it("accept files of any type, return them unchanged and never let a browser run them", async () => {
    const at = `/extensions/${extensionId}/attachments`;
    const page = "<script>alert(1)</script>";
    const made = await api.call("POST", at, {
      multipart: [["file", new File([page], "page.html", { type: "text/html" })]],
    });
    expect(made.body).toMatchObject({ extensionId, file: page.length, fileFiles: [{ fileName: "page.html" }] });
    const bytes = await api.call("GET", `${at}/${made.body.id}/file`);
    expect(bytes.text).toBe(page);
    expect(bytes.headers.get("content-type")).toBe("application/octet-stream");
    expect(bytes.headers.get("content-disposition")).toMatch(/^attachment;/);
    expect((await api.call("POST", at, { json: {} })).body).toMatchObject({
      type: "required",
      errors: [{ field: "file" }],
    });
    expect((await api.call("DELETE", `${at}/${made.body.id}`)).status).toBe(200);
    expect((await api.call("GET", at)).body.total).toBe(0);
  });
});

describe("lists of devices by who activates them", () => {
  let [hall, all, other] = ["", "", ""];
  const found = (values: Record<string, unknown>) => names(`/devices?${query(values)}`);

  beforeAll(async () => {
    other = (await api.call("GET", `/extensions/${extensionId}/endpoints?name=Site%20B`)).body.data[0].id;
    const phones = { attribute: "type", comparison: "EQUALS", value: "phones", complement: false, caseSensitive: true };
    const group = (name: string, priority: number, endpointIds: string[], rest: object) =>
      post("/activation-groups", { name, priority, endpointIds, ...rest });
    hall = (await group("Room 1", 1, [other], { filterType: "REJECT", additionIds: ["SEP1"] })).id;
    all = (await group("Phones", 2, [endpointId], { filters: [phones], exclusionIds: ["SEP3"] })).id;
  });

  it("heed that a device is in one group", async () => {
    expect(await found({ activationGroupId: hall })).toEqual(["SEP1"]);
    expect(await found({ activationGroupId: all })).toEqual(["SEP2"]);
    expect(await found({ activationGroupId: all, disregardPriority: "true" })).toEqual(["SEP1", "SEP2"]);
    expect(await found({ onlyUnallocated: "true" })).toEqual(["zone:hall", "SEP3"]);
    expect(await found({ onlyUnallocated: "true", types: ["phones"] })).toEqual(["SEP3"]);
  });

  it("list what an appliance may activate", async () => {
    expect(await found({ endpointIdToBeReachableBy: other })).toEqual(["SEP1", "SEP3"]);
    expect(await found({ endpointIdToBeReachableBy: endpointId })).toEqual(["SEP2", "zone:hall"]);
    expect(await found({ endpointIdToBeReachableBy: endpointId, disregardPriority: "true" })).toEqual([
      ...["SEP1", "SEP2", "zone:hall"],
    ]);
  });

  it("try a group out before it is stored", async () => {
    const activationGroup = { filterType: "ACCEPT" };
    const everything = ["SEP1", "SEP2", "zone:hall", "SEP3"];
    expect(await found({ activationGroup })).toEqual(everything);
    expect(await found({ activationGroup: { ...activationGroup, priority: 0 } })).toEqual(everything);
    expect(await found({ activationGroup: { ...activationGroup, priority: 1 } })).toEqual(everything.slice(1));
    expect(await found({ activationGroup: { ...activationGroup, priority: 2 } })).toEqual(everything.slice(2));
    expect(await found({ activationGroup: { ...activationGroup, priority: 2, id: all } })).toEqual(everything.slice(1));
  });

  it("reject ids of other resources", async () => {
    for (const [name, value] of [
      ["activationGroupId", NOBODY],
      ["activationGroup", "x"],
      ["activationGroup", { priority: "high" }],
      ["endpointIdToBeReachableBy", NOBODY],
    ] as const) {
      const { status, body } = await api.call("GET", `/devices?${query({ [name]: value })}`);
      expect([name, status, body.errors?.[0]?.field]).toEqual([name, 400, name]);
    }
    const { token } = await api.user("Fay", "get /devices/*");
    expect((await api.call("GET", `/devices?activationGroupId=${hall}`, { token })).status).toBe(400);
  });

  it("leave out speakers that are not set up, or not registered", async () => {
    const at = `/extensions/${extensionId}/endpoints/${endpointId}/devices`;
    const speaker = (deviceIdentifier: string, attributes: object) =>
      post(at, { deviceIdentifier, type: "speakers", description: deviceIdentifier, attributes });
    await speaker("new", { IsConfigured: "false" });
    await speaker("lost", { IsRegisteredSip: "false" });
    await api.call("PUT", at, { json: { id: (await speaker("up", {})).id, attributes: { IsRegistered: true } } });
    const speakers = (values: object) => found({ types: ["speakers"], ...values });
    expect(await speakers({})).toEqual(["zone:hall", "new", "lost", "up"]);
    expect(await speakers({ includeNonConfiguredSpeakers: "false" })).toEqual(["zone:hall", "lost", "up"]);
    expect(await speakers({ includeUnregisteredSpeakers: "false" })).toEqual(["zone:hall", "new", "up"]);
  });
});
